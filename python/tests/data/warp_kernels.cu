#define WP_NO_BFLOAT16

#define WP_TILE_BLOCK_DIM 256
#define WP_NO_CRT
#include "builtin.h"
#include "deterministic.h"

// Map wp.breakpoint() to a device brkpt at the call site so cuda-gdb attributes the stop to the generated .cu line
#if defined(__CUDACC__) && !defined(_MSC_VER)
#define __debugbreak() __brkpt()
#endif

#define builtin_tid1d() wp::tid(_idx, dim)
#define builtin_tid2d(x, y) wp::tid(x, y, _idx, dim)
#define builtin_tid3d(x, y, z) wp::tid(x, y, z, _idx, dim)
#define builtin_tid4d(x, y, z, w) wp::tid(x, y, z, w, _idx, dim)

#define builtin_block_dim() wp::block_dim()

// CUDA Thread Block Cluster shape declaration. Expands to __cluster_dims__
// only on devices that support clusters (compute capability 9.0+); otherwise
// expands to nothing so the same source compiles cleanly for any target arch.
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ >= 900)
#define WP_CLUSTER_DIMS(x, y, z) __cluster_dims__(x, y, z)
#else
#define WP_CLUSTER_DIMS(x, y, z)
#endif

// Maximum registers per thread. __maxnreg__ was added in CUDA Toolkit 12.4;
// older toolkits ignore the opt-in so the same source remains compilable.
#if defined(__CUDACC_VER_MAJOR__) && (__CUDACC_VER_MAJOR__ > 12 || (__CUDACC_VER_MAJOR__ == 12 && __CUDACC_VER_MINOR__ >= 4))
#define WP_MAXNREG(n) __maxnreg__(n)
#else
#define WP_MAXNREG(n)
#endif

// Allow PTXAS to spill registers into shared memory. CUDA Toolkit 13.0
// introduced the pragma, which is unavailable in device-debug compilation.
#if defined(__CUDACC_VER_MAJOR__) && (__CUDACC_VER_MAJOR__ >= 13) && !defined(_DEBUG)
#define WP_ENABLE_SMEM_SPILLING() asm volatile(".pragma \"enable_smem_spilling\";");
#else
#define WP_ENABLE_SMEM_SPILLING()
#endif


// avoid namespacing of float type for casting to float type, this is to avoid wp::float(x), which is not valid in C++
#define float(x) cast_float(x)
#define adj_float(x, adj_x, adj_ret) adj_cast_float(x, adj_x, adj_ret)

#define int(x) cast_int(x)
#define adj_int(x, adj_x, adj_ret) adj_cast_int(x, adj_x, adj_ret)


struct Pair_fb27aa77
{
    wp::array_t<wp::float32> source;
    wp::array_t<wp::float32> target;
    wp::float32 factor;


    Pair_fb27aa77() = default;
    CUDA_CALLABLE Pair_fb27aa77(wp::array_t<wp::float32> const& source,
    wp::array_t<wp::float32> const& target = {},
    wp::float32 const& factor = {})
        : source{source}
        , target{target}
        , factor{factor}

    {
    }

    CUDA_CALLABLE Pair_fb27aa77& operator += (const Pair_fb27aa77& rhs)
    {    factor += rhs.factor;

        return *this;}

};

static CUDA_CALLABLE void adj_Pair_fb27aa77(wp::array_t<wp::float32> const&,
    wp::array_t<wp::float32> const&,
    wp::float32 const&,
    wp::array_t<wp::float32> & adj_source,
    wp::array_t<wp::float32> & adj_target,
    wp::float32 & adj_factor,
    Pair_fb27aa77 & adj_ret)
{
    adj_source = adj_ret.source;
    adj_target = adj_ret.target;
    adj_factor += adj_ret.factor;
}

// Required when compiling adjoints.
CUDA_CALLABLE Pair_fb27aa77 add(const Pair_fb27aa77& a, const Pair_fb27aa77& b)
{
    return Pair_fb27aa77();
}

CUDA_CALLABLE void adj_atomic_add(Pair_fb27aa77* p, Pair_fb27aa77 t)
{
    wp::adj_atomic_add(&p->source, t.source);
    wp::adj_atomic_add(&p->target, t.target);
    wp::adj_atomic_add(&p->factor, t.factor);
}




static CUDA_CALLABLE void inner_0(
    wp::array_t<wp::float32> var_x,
    wp::array_t<wp::float32> var_y,
    wp::int32 var_i,
    wp::float32 & ret_0,
    wp::float32 & ret_1)
{
    //---------
    // primal vars
    wp::float32* var_0;
    wp::float32 var_1;
    wp::float32 var_2;
    wp::float32* var_3;
    wp::float32* var_4;
    wp::float32 var_5;
    wp::float32 var_6;
    wp::float32 var_7;
    wp::float32 var_8;
    //---------
    // forward
    // def inner(x: wp.array(dtype=float), y: wp.array(dtype=float), i: int):                 <L 47>
    // y[i] += x[i]                                                                           <L 48>
    var_0 = wp::address(var_x, var_i);
    var_2 = wp::load(var_0);
    var_1 = wp::atomic_add(var_y, var_i, var_2);
    // return x[i], y[i]                                                                      <L 49>
    var_3 = wp::address(var_x, var_i);
    var_4 = wp::address(var_y, var_i);
    var_6 = wp::load(var_3);
    var_5 = wp::copy(var_6);
    var_8 = wp::load(var_4);
    var_7 = wp::copy(var_8);
    ret_0 = var_5;
    ret_1 = var_7;
    return;
}


static CUDA_CALLABLE void through_0(
    Pair_fb27aa77 var_pair,
    wp::int32 var_i)
{
    //---------
    // primal vars
    wp::array_t<wp::float32>* var_0;
    wp::float32* var_1;
    wp::array_t<wp::float32> var_2;
    wp::float32* var_3;
    wp::float32 var_4;
    wp::float32 var_5;
    wp::float32 var_6;
    wp::array_t<wp::float32>* var_7;
    wp::array_t<wp::float32> var_8;
    //---------
    // forward
    // def through(pair: Pair, i: int):                                                       <L 93>
    // pair.target[i] = pair.source[i] * pair.factor                                          <L 94>
    var_0 = &((var_pair).source);
    var_2 = wp::load(var_0);
    var_1 = wp::address(var_2, var_i);
    var_3 = &((var_pair).factor);
    var_5 = wp::load(var_1);
    var_6 = wp::load(var_3);
    var_4 = wp::mul(var_5, var_6);
    var_7 = &((var_pair).target);
    var_8 = wp::load(var_7);
    wp::array_store(var_8, var_i, var_4);
}


static CUDA_CALLABLE void snippet_0(
    wp::array_t<wp::float32> x,
    wp::int32 i)
{
x.data[i] = 1.0f;}


static CUDA_CALLABLE void adj_inner_0(
    wp::array_t<wp::float32> var_x,
    wp::array_t<wp::float32> var_y,
    wp::int32 var_i,
    wp::float32 & ret_0,
    wp::float32 & ret_1,
    wp::array_t<wp::float32> & adj_x,
    wp::array_t<wp::float32> & adj_y,
    wp::int32 & adj_i,
    wp::float32 & adj_ret_0,
    wp::float32 & adj_ret_1)
{
	// reverse mode disabled (no backward-enabled kernel depends on this function)
}


static CUDA_CALLABLE void adj_through_0(
    Pair_fb27aa77 var_pair,
    wp::int32 var_i,
    Pair_fb27aa77 & adj_pair,
    wp::int32 & adj_i)
{
	// reverse mode disabled (no backward-enabled kernel depends on this function)
}


static CUDA_CALLABLE void adj_snippet_0(
    wp::array_t<wp::float32> x,
    wp::int32 i,
    wp::array_t<wp::float32> & adj_x,
    wp::int32 & adj_i)
{
}



extern "C" __global__ void pointer_0e9d00e4_cuda_kernel_forward(
    wp::launch_bounds_t<1> dim,
    wp::uint64 var_address,
    wp::array_t<wp::float32> var_out)
{
    wp::tile_shared_storage_t tile_mem;

    for (size_t _idx = static_cast<size_t>(blockDim.x) * static_cast<size_t>(blockIdx.x) + static_cast<size_t>(threadIdx.x);
         _idx < dim.size;
         _idx += static_cast<size_t>(blockDim.x) * static_cast<size_t>(gridDim.x))
    {
            // reset shared memory allocator
        wp::tile_shared_storage_t::init();

        //---------
        // primal vars
        wp::int32 var_0;
        const wp::int32 var_1 = 8;
        wp::tuple_t<wp::int32> var_2;
        wp::array_t<wp::float32> var_3;
        const wp::int32 var_4 = 8;
        wp::float32* var_5;
        wp::float32 var_6;
        wp::float32 var_7;
        //---------
        // forward
        // def pointer(address: wp.uint64, out: wp.array(dtype=float)):                           <L 163>
        // i = wp.tid()                                                                           <L 164>
        var_0 = builtin_tid1d();
        // found = wp.array(ptr=address, shape=(8,), dtype=float)                                 <L 165>
        var_2 = wp::tuple(var_1);
        var_3 = wp::array_t<wp::float32>(var_address, var_4);
        // out[i] = found[i]                                                                      <L 166>
        var_5 = wp::address(var_3, var_0);
        var_7 = wp::load(var_5);
        var_6 = wp::copy(var_7);
        wp::array_store(var_out, var_0, var_6);
    }
}



extern "C" __global__ void structs_22bd0edf_cuda_kernel_forward(
    wp::launch_bounds_t<1> dim,
    Pair_fb27aa77 var_pair)
{
    wp::tile_shared_storage_t tile_mem;

    for (size_t _idx = static_cast<size_t>(blockDim.x) * static_cast<size_t>(blockIdx.x) + static_cast<size_t>(threadIdx.x);
         _idx < dim.size;
         _idx += static_cast<size_t>(blockDim.x) * static_cast<size_t>(gridDim.x))
    {
            // reset shared memory allocator
        wp::tile_shared_storage_t::init();

        //---------
        // primal vars
        wp::int32 var_0;
        wp::array_t<wp::float32>* var_1;
        wp::float32* var_2;
        wp::array_t<wp::float32> var_3;
        wp::float32* var_4;
        wp::float32 var_5;
        wp::float32 var_6;
        wp::float32 var_7;
        wp::array_t<wp::float32>* var_8;
        wp::array_t<wp::float32> var_9;
        //---------
        // forward
        // def structs(pair: Pair):                                                               <L 87>
        // i = wp.tid()                                                                           <L 88>
        var_0 = builtin_tid1d();
        // pair.target[i] = pair.source[i] * pair.factor                                          <L 89>
        var_1 = &((var_pair).source);
        var_3 = wp::load(var_1);
        var_2 = wp::address(var_3, var_0);
        var_4 = &((var_pair).factor);
        var_6 = wp::load(var_2);
        var_7 = wp::load(var_4);
        var_5 = wp::mul(var_6, var_7);
        var_8 = &((var_pair).target);
        var_9 = wp::load(var_8);
        wp::array_store(var_9, var_0, var_5);
    }
}



extern "C" __global__ void local_41b23499_cuda_kernel_forward(
    wp::launch_bounds_t<1> dim,
    wp::array_t<wp::float32> var_x,
    wp::array_t<wp::float32> var_out)
{
    wp::tile_shared_storage_t tile_mem;

    for (size_t _idx = static_cast<size_t>(blockDim.x) * static_cast<size_t>(blockIdx.x) + static_cast<size_t>(threadIdx.x);
         _idx < dim.size;
         _idx += static_cast<size_t>(blockDim.x) * static_cast<size_t>(gridDim.x))
    {
            // reset shared memory allocator
        wp::tile_shared_storage_t::init();

        //---------
        // primal vars
        wp::int32 var_0;
        const wp::int32 var_1 = 4;
        wp::fixedarray_t<4, wp::float32> var_2;
        const wp::int32 var_3 = 4;
        const wp::int32 var_4 = 0;
        wp::float32* var_5;
        wp::float32 var_6;
        wp::float32 var_7;
        wp::float32 var_8;
        const wp::int32 var_9 = 1;
        wp::float32* var_10;
        wp::float32 var_11;
        wp::float32 var_12;
        wp::float32 var_13;
        const wp::int32 var_14 = 2;
        wp::float32* var_15;
        wp::float32 var_16;
        wp::float32 var_17;
        wp::float32 var_18;
        const wp::int32 var_19 = 3;
        wp::float32* var_20;
        wp::float32 var_21;
        wp::float32 var_22;
        wp::float32 var_23;
        const wp::int32 var_24 = 3;
        wp::float32* var_25;
        wp::float32 var_26;
        wp::float32 var_27;
        //---------
        // forward
        // def local(x: wp.array(dtype=float), out: wp.array(dtype=float)):                       <L 128>
        // i = wp.tid()                                                                           <L 129>
        var_0 = builtin_tid1d();
        // kept = wp.zeros(shape=4, dtype=float)                                                  <L 130>
        var_2 = wp::fixedarray_t<4, wp::float32>(var_3);
        // for j in range(4):                                                                     <L 131>
        // kept[j] = x[i] * float(j)                                                              <L 132>
        var_5 = wp::address(var_x, var_0);
        var_6 = wp::float(var_4);
        var_8 = wp::load(var_5);
        var_7 = wp::mul(var_8, var_6);
        wp::array_store(var_2, var_4, var_7);
        var_10 = wp::address(var_x, var_0);
        var_11 = wp::float(var_9);
        var_13 = wp::load(var_10);
        var_12 = wp::mul(var_13, var_11);
        wp::array_store(var_2, var_9, var_12);
        var_15 = wp::address(var_x, var_0);
        var_16 = wp::float(var_14);
        var_18 = wp::load(var_15);
        var_17 = wp::mul(var_18, var_16);
        wp::array_store(var_2, var_14, var_17);
        var_20 = wp::address(var_x, var_0);
        var_21 = wp::float(var_19);
        var_23 = wp::load(var_20);
        var_22 = wp::mul(var_23, var_21);
        wp::array_store(var_2, var_19, var_22);
        // out[i] = kept[3]                                                                       <L 133>
        var_25 = wp::address(var_2, var_24);
        var_27 = wp::load(var_25);
        var_26 = wp::copy(var_27);
        wp::array_store(var_out, var_0, var_26);
    }
}



extern "C" __global__ void calls_5b7401ed_cuda_kernel_forward(
    wp::launch_bounds_t<1> dim,
    wp::array_t<wp::float32> var_x,
    wp::array_t<wp::float32> var_y,
    wp::array_t<wp::float32> var_z)
{
    wp::tile_shared_storage_t tile_mem;

    for (size_t _idx = static_cast<size_t>(blockDim.x) * static_cast<size_t>(blockIdx.x) + static_cast<size_t>(threadIdx.x);
         _idx < dim.size;
         _idx += static_cast<size_t>(blockDim.x) * static_cast<size_t>(gridDim.x))
    {
            // reset shared memory allocator
        wp::tile_shared_storage_t::init();

        //---------
        // primal vars
        wp::int32 var_0;
        wp::float32 var_1;
        wp::float32 var_2;
        wp::float32 var_3;
        //---------
        // forward
        // def calls(x: wp.array(dtype=float), y: wp.array(dtype=float), z: wp.array(dtype=float)):       <L 53>
        // i = wp.tid()                                                                           <L 54>
        var_0 = builtin_tid1d();
        // a, b = inner(x, y, i)                                                                  <L 55>
        inner_0(var_x, var_y, var_0, var_1, var_2);
        // z[i] = a + b                                                                           <L 56>
        var_3 = wp::add(var_1, var_2);
        wp::array_store(var_z, var_0, var_3);
    }
}



extern "C" __global__ void views_5e3dd91b_cuda_kernel_forward(
    wp::launch_bounds_t<1> dim,
    wp::array_t<wp::float32> var_x,
    wp::array_t<wp::float32> var_out)
{
    wp::tile_shared_storage_t tile_mem;

    for (size_t _idx = static_cast<size_t>(blockDim.x) * static_cast<size_t>(blockIdx.x) + static_cast<size_t>(threadIdx.x);
         _idx < dim.size;
         _idx += static_cast<size_t>(blockDim.x) * static_cast<size_t>(gridDim.x))
    {
            // reset shared memory allocator
        wp::tile_shared_storage_t::init();

        //---------
        // primal vars
        wp::int32 var_0;
        wp::array_t<wp::float32> var_1;
        wp::array_t<wp::float32> var_2;
        wp::shape_t* var_3;
        const wp::int32 var_4 = 0;
        wp::int32 var_5;
        wp::shape_t var_6;
        wp::range_t var_7;
        wp::int32 var_8;
        wp::float32* var_9;
        wp::float32 var_10;
        wp::float32 var_11;
        //---------
        // forward
        // def views(x: wp.array2d(dtype=float), out: wp.array2d(dtype=float)):                   <L 60>
        // i = wp.tid()                                                                           <L 61>
        var_0 = builtin_tid1d();
        // row = x[i]                                                                             <L 62>
        var_1 = wp::view(var_x, var_0);
        // target = out[i]                                                                        <L 63>
        var_2 = wp::view(var_out, var_0);
        // for j in range(row.shape[0]):                                                          <L 64>
        var_3 = &(var_1.shape);
        var_6 = wp::load(var_3);
        var_5 = wp::extract(var_6, var_4);
        var_7 = wp::range(var_5);
        start_for_0:;
            if (iter_cmp(var_7) == 0) goto end_for_0;
            var_8 = wp::iter_next(var_7);
            // target[j] = row[j]                                                                 <L 65>
            var_9 = wp::address(var_1, var_8);
            var_11 = wp::load(var_9);
            var_10 = wp::copy(var_11);
            wp::array_store(var_2, var_8, var_10);
            goto start_for_0;
        end_for_0:;
    }
}



extern "C" __global__ void mesh_62aaf52d_cuda_kernel_forward(
    wp::launch_bounds_t<1> dim,
    wp::uint64 var_mesh,
    wp::array_t<wp::float32> var_out)
{
    wp::tile_shared_storage_t tile_mem;

    for (size_t _idx = static_cast<size_t>(blockDim.x) * static_cast<size_t>(blockIdx.x) + static_cast<size_t>(threadIdx.x);
         _idx < dim.size;
         _idx += static_cast<size_t>(blockDim.x) * static_cast<size_t>(gridDim.x))
    {
            // reset shared memory allocator
        wp::tile_shared_storage_t::init();

        //---------
        // primal vars
        wp::int32 var_0;
        wp::vec_t<3, wp::float32> var_1;
        const wp::float32 var_2 = 1.0;
        wp::mesh_query_point_t var_3;
        wp::float32* var_4;
        wp::float32 var_5;
        wp::float32 var_6;
        //---------
        // forward
        // def mesh(mesh: wp.uint64, out: wp.array(dtype=float)):                                 <L 157>
        // i = wp.tid()                                                                           <L 158>
        var_0 = builtin_tid1d();
        // out[i] = wp.mesh_query_point(mesh, wp.vec3(), 1.0).u                                   <L 159>
        var_1 = wp::vec_t<3, wp::float32>();
        var_3 = wp::mesh_query_point(var_mesh, var_1, var_2);
        var_4 = &(var_3.u);
        var_6 = wp::load(var_4);
        var_5 = wp::copy(var_6);
        wp::array_store(var_out, var_0, var_5);
    }
}



extern "C" __global__ void loops_78d69d25_cuda_kernel_forward(
    wp::launch_bounds_t<1> dim,
    wp::array_t<wp::int32> var_start,
    wp::array_t<wp::vec_t<3, wp::float32>> var_x,
    wp::array_t<wp::vec_t<3, wp::float32>> var_out)
{
    wp::tile_shared_storage_t tile_mem;

    for (size_t _idx = static_cast<size_t>(blockDim.x) * static_cast<size_t>(blockIdx.x) + static_cast<size_t>(threadIdx.x);
         _idx < dim.size;
         _idx += static_cast<size_t>(blockDim.x) * static_cast<size_t>(gridDim.x))
    {
            // reset shared memory allocator
        wp::tile_shared_storage_t::init();

        //---------
        // primal vars
        wp::int32 var_0;
        wp::vec_t<3, wp::float32> var_1;
        wp::int32* var_2;
        const wp::int32 var_3 = 1;
        wp::int32 var_4;
        wp::int32* var_5;
        wp::range_t var_6;
        wp::int32 var_7;
        wp::int32 var_8;
        wp::int32 var_9;
        wp::vec_t<3, wp::float32>* var_10;
        const wp::int32 var_11 = 0;
        wp::float32 var_12;
        wp::vec_t<3, wp::float32> var_13;
        const wp::float32 var_14 = 0.0;
        bool var_15;
        wp::vec_t<3, wp::float32>* var_16;
        wp::vec_t<3, wp::float32> var_17;
        wp::vec_t<3, wp::float32> var_18;
        wp::vec_t<3, wp::float32> var_19;
        //---------
        // forward
        // def loops(start: wp.array(dtype=int), x: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.vec3)):       <L 106>
        // i = wp.tid()                                                                           <L 107>
        var_0 = builtin_tid1d();
        // sum = wp.vec3()                                                                        <L 108>
        var_1 = wp::vec_t<3, wp::float32>();
        // for j in range(start[i], start[i + 1]):                                                <L 109>
        var_2 = wp::address(var_start, var_0);
        var_4 = wp::add(var_0, var_3);
        var_5 = wp::address(var_start, var_4);
        var_7 = wp::load(var_2);
        var_8 = wp::load(var_5);
        var_6 = wp::range(var_7, var_8);
        start_for_0:;
            if (iter_cmp(var_6) == 0) goto end_for_0;
            var_9 = wp::iter_next(var_6);
            // if x[j][0] > 0.0:                                                                  <L 110>
            var_10 = wp::address(var_x, var_9);
            var_13 = wp::load(var_10);
            var_12 = wp::extract(var_13, var_11);
            var_15 = (var_12 > var_14);
            if (var_15) {
                // continue                                                                       <L 111>
                goto start_for_0;
            }
            // sum += x[j]                                                                        <L 112>
            var_16 = wp::address(var_x, var_9);
            var_18 = wp::load(var_16);
            var_17 = wp::add(var_1, var_18);
            wp::assign(var_1, var_17);
            goto start_for_0;
        end_for_0:;
        // out[i] += sum                                                                          <L 113>
        var_19 = wp::atomic_add(var_out, var_0, var_1);
    }
}



extern "C" __global__ void prints_7e6ecd7f_cuda_kernel_forward(
    wp::launch_bounds_t<1> dim,
    wp::array_t<wp::float32> var_x)
{
    wp::tile_shared_storage_t tile_mem;

    for (size_t _idx = static_cast<size_t>(blockDim.x) * static_cast<size_t>(blockIdx.x) + static_cast<size_t>(threadIdx.x);
         _idx < dim.size;
         _idx += static_cast<size_t>(blockDim.x) * static_cast<size_t>(gridDim.x))
    {
            // reset shared memory allocator
        wp::tile_shared_storage_t::init();

        //---------
        // primal vars
        const wp::str var_0 = "%f = %f\n";
        const wp::int32 var_1 = 0;
        wp::float32* var_2;
        const wp::float32 var_3 = 1.0;
        wp::float32 var_4;
        //---------
        // forward
        // def prints(x: wp.array(dtype=float)):                                                  <L 147>
        // wp.printf("%f = %f\n", x[0], 1.0)                                                      <L 148>
        var_2 = wp::address(var_x, var_1);
        var_4 = wp::load(var_2);
        printf(var_0, var_4, var_3);
    }
}



extern "C" __global__ void sums_7f4476bc_cuda_kernel_forward(
    wp::launch_bounds_t<2> dim,
    wp::array_t<wp::float32> var_x,
    wp::array_t<wp::float32> var_out)
{
    wp::tile_shared_storage_t tile_mem;

    for (size_t _idx = static_cast<size_t>(blockDim.x) * static_cast<size_t>(blockIdx.x) + static_cast<size_t>(threadIdx.x);
         _idx < dim.size;
         _idx += static_cast<size_t>(blockDim.x) * static_cast<size_t>(gridDim.x))
    {
            // reset shared memory allocator
        wp::tile_shared_storage_t::init();

        //---------
        // primal vars
        wp::int32 var_0;
        wp::int32 var_1;
        wp::float32* var_2;
        wp::float32 var_3;
        wp::float32 var_4;
        //---------
        // forward
        // def sums(x: wp.array2d(dtype=float), out: wp.array(dtype=float)):                      <L 41>
        // i, j = wp.tid()                                                                        <L 42>
        builtin_tid2d(var_0, var_1);
        // wp.atomic_add(out, i, x[i, j])                                                         <L 43>
        var_2 = wp::address(var_x, var_0, var_1);
        var_4 = wp::load(var_2);
        var_3 = wp::atomic_add(var_out, var_0, var_4);
    }
}



extern "C" __global__ void unused_8b742845_cuda_kernel_forward(
    wp::launch_bounds_t<1> dim,
    wp::array_t<wp::float32> var_x,
    wp::array_t<wp::float32> var_y)
{
    wp::tile_shared_storage_t tile_mem;

    for (size_t _idx = static_cast<size_t>(blockDim.x) * static_cast<size_t>(blockIdx.x) + static_cast<size_t>(threadIdx.x);
         _idx < dim.size;
         _idx += static_cast<size_t>(blockDim.x) * static_cast<size_t>(gridDim.x))
    {
            // reset shared memory allocator
        wp::tile_shared_storage_t::init();

        //---------
        // primal vars
        wp::shape_t* var_0;
        const wp::int32 var_1 = 0;
        wp::int32 var_2;
        wp::shape_t var_3;
        wp::float32 var_4;
        wp::int32 var_5;
        //---------
        // forward
        // def unused(x: wp.array(dtype=float), y: wp.array(dtype=float)):                        <L 152>
        // y[wp.tid()] = float(x.shape[0])                                                        <L 153>
        var_0 = &(var_x.shape);
        var_3 = wp::load(var_0);
        var_2 = wp::extract(var_3, var_1);
        var_4 = wp::float(var_2);
        var_5 = builtin_tid1d();
        wp::array_store(var_y, var_5, var_4);
    }
}



extern "C" __global__ void elements_acbb48d0_cuda_kernel_forward(
    wp::launch_bounds_t<1> dim,
    wp::array_t<wp::vec_t<3, wp::float32>> var_x)
{
    wp::tile_shared_storage_t tile_mem;

    for (size_t _idx = static_cast<size_t>(blockDim.x) * static_cast<size_t>(blockIdx.x) + static_cast<size_t>(threadIdx.x);
         _idx < dim.size;
         _idx += static_cast<size_t>(blockDim.x) * static_cast<size_t>(gridDim.x))
    {
            // reset shared memory allocator
        wp::tile_shared_storage_t::init();

        //---------
        // primal vars
        const wp::float32 var_0 = 3.0;
        wp::int32 var_1;
        wp::vec_t<3, wp::float32>* var_2;
        const wp::int32 var_3 = 1;
        //---------
        // forward
        // def elements(x: wp.array(dtype=wp.vec3)):                                              <L 117>
        // x[wp.tid()][1] = 3.0                                                                   <L 118>
        var_1 = builtin_tid1d();
        var_2 = &(wp::index(var_x, var_1));
        wp::store(&(wp::index(var_x, var_1).component_ref(var_3)), var_0);
    }
}



extern "C" __global__ void makes_struct_b2daea52_cuda_kernel_forward(
    wp::launch_bounds_t<1> dim,
    wp::array_t<wp::float32> var_x,
    wp::array_t<wp::float32> var_y)
{
    wp::tile_shared_storage_t tile_mem;

    for (size_t _idx = static_cast<size_t>(blockDim.x) * static_cast<size_t>(blockIdx.x) + static_cast<size_t>(threadIdx.x);
         _idx < dim.size;
         _idx += static_cast<size_t>(blockDim.x) * static_cast<size_t>(gridDim.x))
    {
            // reset shared memory allocator
        wp::tile_shared_storage_t::init();

        //---------
        // primal vars
        Pair_fb27aa77 var_0;
        wp::int32 var_1;
        //---------
        // forward
        // def makes_struct(x: wp.array(dtype=float), y: wp.array(dtype=float)):                  <L 98>
        // pair = Pair()                                                                          <L 99>
        var_0 = Pair_fb27aa77();
        // pair.source = x                                                                        <L 100>
        var_0.source = var_x;
        // pair.target = y                                                                        <L 101>
        var_0.target = var_y;
        // through(pair, wp.tid())                                                                <L 102>
        var_1 = builtin_tid1d();
        through_0(var_0, var_1);
    }
}



extern "C" __global__ void chooses_c71b8ab8_cuda_kernel_forward(
    wp::launch_bounds_t<1> dim,
    wp::array_t<wp::float32> var_a,
    wp::array_t<wp::float32> var_b,
    bool var_which)
{
    wp::tile_shared_storage_t tile_mem;

    for (size_t _idx = static_cast<size_t>(blockDim.x) * static_cast<size_t>(blockIdx.x) + static_cast<size_t>(threadIdx.x);
         _idx < dim.size;
         _idx += static_cast<size_t>(blockDim.x) * static_cast<size_t>(gridDim.x))
    {
            // reset shared memory allocator
        wp::tile_shared_storage_t::init();

        //---------
        // primal vars
        wp::int32 var_0;
        wp::array_t<wp::float32> var_1;
        wp::array_t<wp::float32> var_2;
        wp::array_t<wp::float32> var_3;
        wp::array_t<wp::float32> var_4;
        wp::array_t<wp::float32> var_5;
        wp::array_t<wp::float32> var_6;
        wp::float32* var_7;
        wp::float32 var_8;
        wp::float32 var_9;
        //---------
        // forward
        // def chooses(a: wp.array(dtype=float), b: wp.array(dtype=float), which: bool):          <L 69>
        // i = wp.tid()                                                                           <L 70>
        var_0 = builtin_tid1d();
        // source = a                                                                             <L 71>
        var_1 = wp::copy(var_a);
        // target = b                                                                             <L 72>
        var_2 = wp::copy(var_b);
        // if which:                                                                              <L 73>
        if (var_which) {
            // source = b                                                                         <L 74>
            var_3 = wp::copy(var_b);
            // target = a                                                                         <L 75>
            var_4 = wp::copy(var_a);
        }
        var_5 = wp::where(var_which, var_3, var_1);
        var_6 = wp::where(var_which, var_4, var_2);
        // target[i] = source[i]                                                                  <L 76>
        var_7 = wp::address(var_5, var_0);
        var_9 = wp::load(var_7);
        var_8 = wp::copy(var_9);
        wp::array_store(var_6, var_0, var_8);
    }
}



extern "C" __global__ void native_d8ba1331_cuda_kernel_forward(
    wp::launch_bounds_t<1> dim,
    wp::array_t<wp::float32> var_x)
{
    wp::tile_shared_storage_t tile_mem;

    for (size_t _idx = static_cast<size_t>(blockDim.x) * static_cast<size_t>(blockIdx.x) + static_cast<size_t>(threadIdx.x);
         _idx < dim.size;
         _idx += static_cast<size_t>(blockDim.x) * static_cast<size_t>(gridDim.x))
    {
            // reset shared memory allocator
        wp::tile_shared_storage_t::init();

        //---------
        // primal vars
        wp::int32 var_0;
        //---------
        // forward
        // def native(x: wp.array(dtype=float)):                                                  <L 142>
        // snippet(x, wp.tid())                                                                   <L 143>
        var_0 = builtin_tid1d();
        snippet_0(var_x, var_0);
    }
}



extern "C" __global__ void nested_fa0ae943_cuda_kernel_forward(
    wp::launch_bounds_t<1> dim,
    wp::array_t<Pair_fb27aa77> var_pairs,
    wp::array_t<wp::float32> var_out)
{
    wp::tile_shared_storage_t tile_mem;

    for (size_t _idx = static_cast<size_t>(blockDim.x) * static_cast<size_t>(blockIdx.x) + static_cast<size_t>(threadIdx.x);
         _idx < dim.size;
         _idx += static_cast<size_t>(blockDim.x) * static_cast<size_t>(gridDim.x))
    {
            // reset shared memory allocator
        wp::tile_shared_storage_t::init();

        //---------
        // primal vars
        wp::int32 var_0;
        const wp::int32 var_1 = 0;
        Pair_fb27aa77* var_2;
        wp::array_t<wp::float32>* var_3;
        wp::float32* var_4;
        wp::array_t<wp::float32> var_5;
        wp::float32 var_6;
        wp::float32 var_7;
        //---------
        // forward
        // def nested(pairs: wp.array(dtype=Pair), out: wp.array(dtype=float)):                   <L 170>
        // i = wp.tid()                                                                           <L 171>
        var_0 = builtin_tid1d();
        // out[i] = pairs[0].source[i]                                                            <L 172>
        var_2 = wp::address(var_pairs, var_1);
        var_3 = &(((*wp::address(var_pairs, var_1))).source);
        var_5 = wp::load(var_3);
        var_4 = wp::address(var_5, var_0);
        var_7 = wp::load(var_4);
        var_6 = wp::copy(var_7);
        wp::array_store(var_out, var_0, var_6);
    }
}



extern "C" __global__ void tiles_fc6f261a_cuda_kernel_forward(
    wp::launch_bounds_t<1> dim,
    wp::array_t<wp::float32> var_x,
    wp::array_t<wp::float32> var_y)
{
    wp::tile_shared_storage_t tile_mem;

    for (size_t _idx = static_cast<size_t>(blockDim.x) * static_cast<size_t>(blockIdx.x) + static_cast<size_t>(threadIdx.x);
         _idx < dim.size;
         _idx += static_cast<size_t>(blockDim.x) * static_cast<size_t>(gridDim.x))
    {
            // reset shared memory allocator
        wp::tile_shared_storage_t::init();

        //---------
        // primal vars
        wp::int32 var_0;
        const wp::int32 var_1 = 16;
        const wp::int32 var_2 = 16;
        wp::int32 var_3;
        wp::tile_register_t<wp::float32,wp::tile_layout_register_t<wp::tile_shape_t<16>>> var_4 = wp::tile_register_t<wp::float32,wp::tile_layout_register_t<wp::tile_shape_t<16>>>{};
        const wp::float32 var_5 = 2.0;
        wp::tile_register_t<wp::float32,wp::tile_layout_register_t<wp::tile_shape_t<16>>> var_6 = wp::tile_register_t<wp::float32,wp::tile_layout_register_t<wp::tile_shape_t<16>>>{};
        const wp::int32 var_7 = 16;
        wp::int32 var_8;
        //---------
        // forward
        // def tiles(x: wp.array(dtype=float), y: wp.array(dtype=float)):                         <L 122>
        // i = wp.tid()                                                                           <L 123>
        var_0 = builtin_tid1d();
        // wp.tile_store(y, wp.tile_load(x, shape=16, offset=i * 16) * 2.0, offset=i * 16)        <L 124>
        var_3 = wp::mul(var_0, var_2);
        var_4 = wp::tile_load<wp::float32, true, false, 16>(var_x, var_3);
        var_6 = wp::tile_mul(var_4, var_5);
        var_8 = wp::mul(var_0, var_7);
        wp::tile_store<wp::float32, true, false>(var_y, var_8, var_6);
    }
}



extern "C" __global__ void plain_fec9d67c_cuda_kernel_forward(
    wp::launch_bounds_t<1> dim,
    wp::array_t<wp::float32> var_x,
    wp::array_t<wp::float32> var_y)
{
    wp::tile_shared_storage_t tile_mem;

    for (size_t _idx = static_cast<size_t>(blockDim.x) * static_cast<size_t>(blockIdx.x) + static_cast<size_t>(threadIdx.x);
         _idx < dim.size;
         _idx += static_cast<size_t>(blockDim.x) * static_cast<size_t>(gridDim.x))
    {
            // reset shared memory allocator
        wp::tile_shared_storage_t::init();

        //---------
        // primal vars
        wp::int32 var_0;
        wp::float32* var_1;
        const wp::float32 var_2 = 2.0;
        wp::float32 var_3;
        wp::float32 var_4;
        //---------
        // forward
        // def plain(x: wp.array(dtype=float), y: wp.array(dtype=float)):                         <L 35>
        // i = wp.tid()                                                                           <L 36>
        var_0 = builtin_tid1d();
        // y[i] = x[i] * 2.0                                                                      <L 37>
        var_1 = wp::address(var_x, var_0);
        var_4 = wp::load(var_1);
        var_3 = wp::mul(var_4, var_2);
        wp::array_store(var_y, var_0, var_3);
    }
}

