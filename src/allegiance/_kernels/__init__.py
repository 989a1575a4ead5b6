"""All compiled functions of the package, and nothing else.

================  ==================================================================================================
``jit``           the decorators that compile and cache kernels, and intrinsics in LLVM IR
``affine_block``  affine functions at a block of samples: values, or counts of their signs, as vectors in LLVM IR
``pcg64``         uniform samples of a cube
``counting``      projections, owners of independent samples, and how many of them each query steals
``reflecting``    samples reflected in groups of axes: their owners, and how many of them each query steals
``cutting``       exact volume that each query steals from each triangulated cell
``walking``       hit-and-run: one chain per query cell, or one chain in a polytope
================  ==================================================================================================

Rules
-----
- A kernel holds no policy: arrays in, arrays out. What to compute, when to stop and what it means is decided by the
  engine that calls it.
- One dtype and one memory layout per kernel (float64 and C order unless its docstring says otherwise); the caller
  casts. Two dtypes would double the time of the first call.
- A kernel has no random numbers of its own. Chains get directions and jumps as arrays drawn by a
  ``numpy.random.Generator``, and ``draw_uniform`` computes the numbers of such a generator, so that a plain NumPy twin
  can follow them bit for bit.
- What a kernel computes for one row does not depend on the other rows of the call. Callers may therefore split rows
  over threads and chunks in any way without changing one bit of the result.
- A loop is vectorised only if its index counts from zero (in ``x[start + s]`` the compiler cannot rule out a negative
  one), nothing in it can raise, and the arrays it writes and reads are not the same. Look at the time per number.
- What Numba cannot express, such as vectors in registers, is an intrinsic in LLVM IR, used by kernels only. Measure
  older processors, too. Numba keeps the features of the host if only the name of another processor is set, so switch
  them off: ``NUMBA_CPU_NAME=haswell NUMBA_CPU_FEATURES=+avx,+avx2,+fma`` has no AVX-512, ``NUMBA_CPU_NAME=sandybridge
  NUMBA_CPU_FEATURES=+avx`` no fused multiplication, and ``NUMBA_CPU_NAME=generic`` no AVX either.
- Integers, choices among samples and owners are the same on every processor with fused multiplication. Sums that are
  reordered (``project_rows``) or rounded once (``fuse``) are not: see ``docs/scale.md`` for what that changes.
- No assignment of one array to a part of another: the check of their shapes compiles strings, for seconds.
- Large arrays come from the caller: NumPy asks for large pages, compiled code waits for small ones.
- Kernels are compiled on first use and cached on disk; importing :mod:`allegiance` does not import numba.
"""
