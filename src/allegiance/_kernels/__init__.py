"""Every compiled function of the package, and nothing else.

=====================  ==================================================================================
``_projection``        rows of X to coordinates in the span of the sites, one row at a time
``_site_distances``    how far positions are from their own site and the nearest other one
``_affine_block``      six affine functions at a block of samples: values, or their signs
``_owners``            who owns each sample, and each position
``_grouping``          samples grouped by the site that owns them
``_owner_counts``      how many shared samples each query steals from each site
``_sample_choice``     for which sites each sample is worth testing
``_owner_banks``       the samples chosen for one site, sorted for counting
``_stolen_counts``     how much of a bank each query steals from each site, and its share
``_bits``              bits of words
``_simplex_fraction``  exact volume that each query steals from each triangulated cell
``_owner_chain``       hit-and-run inside the cell of each query, counting the owners it passes
``_polytope_chain``    hit-and-run inside one polytope, keeping the positions
=====================  ==================================================================================

Rules
-----
- A kernel holds no policy: arrays in, arrays out. What to compute, when to stop and what it means is decided by the
  engine that calls it.
- One dtype and one memory layout per kernel (float64 and C order unless its docstring says otherwise); the caller
  casts. Two dtypes would double the time of the first call.
- A kernel draws no random numbers. Chains get directions and jumps as arrays drawn by a ``numpy.random.Generator``, so
  that a plain NumPy twin can follow them bit for bit.
- What a kernel computes for one row does not depend on the other rows of the call. Callers may therefore split rows
  over threads and chunks in any way without changing one bit of the result.
- A loop is vectorised only if its index counts from zero (in ``x[start + s]`` the compiler cannot rule out a negative
  one), nothing in it can raise, and the arrays it writes and reads are not the same. Look at the time per number.
- What numba cannot say, vectors in registers and bits, is an intrinsic in LLVM's language, used by kernels only. Look
  at the time per number on an older processor, too: ``NUMBA_CPU_NAME=haswell``.
- Large arrays come from the caller: NumPy asks for large pages, compiled code waits for small ones.
- Kernels are compiled on first use and cached on disk; importing :mod:`allegiance` does not import numba.
"""
