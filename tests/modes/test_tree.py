# SPDX-License-Identifier: Apache-2.0
"""Modes that Weir reads from the code of every kernel in the tree, against what the source says.

Usage: test_tree.py MODES_OF SOURCES BUILD GLSLANG spirv|cuda|opencl
A parameter that the source writes must never be READ, and one that it does not write must be READ.
"""
import glob
import os
import re
import subprocess
import sys
import tempfile

MODES_OF, SOURCES, BUILD, GLSLANG, KIND = sys.argv[1:6]
failures, compared, skipped = [], 0, []
# Kernels whose code writes through addresses that values hold: so all that they get counts as written.
WRITES_ANYWHERE = {"wait_task"}


def modes_of(*arguments):
    """{kernel: (what it does anywhere, [(bytes, use)])}; None: it cannot be had here."""
    run = subprocess.run([MODES_OF, *arguments], capture_output=True, text=True)
    if run.returncode == 77:
        print(run.stdout.strip())
        sys.exit(77)
    if run.returncode != 0:
        return None
    found = {}
    for line in run.stdout.splitlines():
        name, anywhere, *parameters = line.split()
        uses = [parameter.split(":") for parameter in parameters if ":" in parameter]
        found[name] = (anywhere, [(int(size), use) for size, use in uses])
    return found


def compare(where, name, use, anywhere, written):
    """`use` is what Weir found, `written` what the source says."""
    global compared
    compared += 1
    may_write = "w" in use or "w" in anywhere or use == "?"
    if written and not may_write:
        failures.append(f"{where}: '{name}' is written, and Weir reads '{use}'")
    if not written and may_write and not ("w" in anywhere and where.split(", ")[-1] in WRITES_ANYWHERE):
        failures.append(f"{where}: '{name}' is not written, and Weir reads '{use}', anywhere '{anywhere}'")
    if not written and "s" in use:
        failures.append(f"{where}: '{name}' is not written, and Weir sees a store")


def without_comments(text):
    return re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.S)


def is_written(body, name, instance=""):
    """Whether an expression that begins with the name (of the block `instance`) is assigned to, or goes to an atomic."""
    prefix = re.escape(instance) + r"\." if instance else ""
    assigned = r"\s*(=(?!=)|\+=|-=|\*=|/=|%=|\|=|&=|\^=|<<=|>>=|\+\+|--)"
    for match in re.finditer(r"(?<![\w.])%s%s\b" % (prefix, re.escape(name)), body):
        before = body[:match.start()].rstrip()
        if re.search(r"(\+\+|--)$", before) or re.search(r"\b(atomic\w+|image(Store|Atomic)\w*)\s*\($", before):
            return True
        at = match.end()
        while at < len(body) and body[at] in "[.":
            if body[at] == "[":
                depth, at = 1, at + 1
                while depth > 0:
                    depth += {"[": 1, "]": -1}.get(body[at], 0)
                    at += 1
            else:
                at += re.match(r"\.\w*", body[at:]).end()
        if re.match(assigned, body[at:]):
            return True
    return False


def check_shader(path, folder):
    text = without_comments(open(path).read())
    words = os.path.join(folder, "words.spv")
    built = subprocess.run([GLSLANG, "--quiet", "-V", "--target-env", "vulkan1.2", "-o", words, path],
                           capture_output=True, text=True)
    where = os.path.relpath(path, SOURCES)
    if built.returncode != 0:
        skipped.append(where)
        return
    found = modes_of("spirv", words)
    if found is None:
        (skipped if "refused" in path else failures).append(f"{where}: not read")
        return
    anywhere, uses = found["main"]
    pattern = r"layout\s*\(([^)]*)\)\s*([\w\s]*?)\b(?:buffer\s+\w+\s*\{([^}]*)\}\s*(\w*)|uniform\s+([\w\s]*?)(\w+)\s*;)"
    for layout, _, members, instance, _, image in re.findall(pattern, text):
        binding = re.search(r"binding\s*=\s*(\d+)", layout)
        if not binding:
            continue
        names = [image] if image else re.findall(r"(\w+)\s*(?:\[[^\]]*\]\s*)*;", members)
        number = int(binding.group(1))
        if number < len(uses): # the compiler leaves out what is not used
            written = any(is_written(text, name, instance) for name in names)
            compare(where, names[0], uses[number][1], anywhere, written)


def kernels_of(text):
    """[(name, [(is buffer, is const, name)])] of a text in the form of weir/kernel.h, which precedes it."""
    found = []
    for match in re.finditer(r"^WEIR_KERNEL\(\s*(\w+)\s*,", text, re.M):
        end = re.search(r"\)\)\s*\{", text[match.end():])
        if not end:
            continue
        head = text[match.end():match.end() + end.end()]
        parameters = re.findall(r"WEIR_(BUFFER|SCALAR)\(([^,()]*),\s*(\w+)\)", head)
        found.append((match.group(1), [(kind == "BUFFER", "const" in type_, name) for kind, type_, name in parameters]))
    return found


def check_written_once(path):
    found = {}
    kernels = kernels_of(without_comments(open(path).read()))
    where = os.path.relpath(path, BUILD)
    if kernels:
        found = modes_of(KIND, path, *([name for name, _ in kernels] if KIND == "opencl" else []))
    if found is None:
        skipped.append(where)
        return
    for kernel, parameters in kernels:
        if kernel not in found:
            failures.append(f"{where}: no kernel {kernel} in what Weir read")
            continue
        anywhere, uses = found[kernel]
        for (is_buffer, is_const, name), (size, use) in zip(parameters, uses):
            if is_buffer:
                compare(f"{where}, {kernel}", name, use, anywhere, not is_const)
            elif size == 0 and KIND != "opencl":
                failures.append(f"{where}, {kernel}: the size of '{name}' is not known")


def check_cuda_text(where, text, found):
    for kernel, parameters in re.findall(r"__global__ void (\w+)\(([^)]*)\)", text):
        mangled = r"_Z\w*%d%s" % (len(kernel), kernel)
        name = next((name for name in found if name == kernel or re.match(mangled, name)), None)
        if name is None:
            failures.append(f"{where}: no kernel {kernel} in what Weir read")
            continue
        anywhere, uses = found[name]
        for parameter, (_, use) in zip(parameters.split(","), uses):
            if "*" in parameter:
                compare(f"{where}, {kernel}", parameter.split("*")[-1].strip(), use, anywhere, "const" not in parameter)


def check_cuda_source(where, text, folder):
    path = os.path.join(folder, "text.cu")
    open(path, "w").write(text)
    found = modes_of("cuda", path)
    if found is None:
        failures.append(f"{where}: not read")
    else:
        check_cuda_text(where, without_comments(text), found)


def check_cuda_files(folder):
    """The .cu file, by nvcc where it is, and sources in string literals."""
    nvcc = "/usr/local/cuda/bin/nvcc"
    path = os.path.join(SOURCES, "examples/interop/interop.cu")
    ptx = os.path.join(folder, "interop.ptx")
    own, embedded, _ = re.split(r'R"\((.*?)\)"', open(path).read(), maxsplit=1, flags=re.S)
    check_cuda_source("interop.cu", embedded, folder)
    if os.path.exists(nvcc) and subprocess.run([nvcc, "-ptx", "-I", os.path.join(SOURCES, "include"), "-o", ptx, path],
                                               capture_output=True).returncode == 0:
        check_cuda_text("interop.cu", without_comments(own), modes_of("ptx", ptx))
    else:
        skipped.append("interop.cu")
    for name in ["tools/weir/spin.c", "tools/weir/multiply.c"]:
        source = re.sub(r'"[ \t]*//[^\n]*', '"', open(os.path.join(SOURCES, name)).read())
        for run in re.findall(r'(?:"(?:[^"\\\n]|\\.)*"\s*)+', source):
            text = "".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', run)).replace("\\n", "\n").replace('\\"', '"')
            if "__global__" in text:
                check_cuda_source(name, text, folder)


with tempfile.TemporaryDirectory() as temporary:
    if KIND == "spirv":
        for shader in sorted(glob.glob(os.path.join(SOURCES, "*", "**", "*.comp"), recursive=True)):
            if not os.path.relpath(shader, SOURCES).startswith("build"):
                check_shader(shader, temporary)
    else:
        for text_path in sorted(glob.glob(os.path.join(BUILD, "**", "*.kernels.text"), recursive=True)):
            check_written_once(text_path)
        if KIND == "cuda":
            check_cuda_files(temporary)
print(f"{compared} buffers compared; not compiled here: {', '.join(skipped) if skipped else 'none'}")
print("\n".join(failures))
sys.exit(1 if failures or compared == 0 else 0)
