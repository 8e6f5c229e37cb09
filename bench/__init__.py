"""How fast MewCode is: one row a promise, each as a ratio to a bare Python of the same machine and minute.

Run it with ``scripts/bench``. How to read its table:

- A row's figure is the median over the runs; ``low`` and ``high`` are the quartiles. Where they lie far apart
  the machine was busy: run again, or with more ``--runs``.
- ``ratio`` divides by the median of ``python -c pass``, of which two were measured right before each sample
  of this row. Absolute figures drift with the machine, ratios much less: compare ratios.
- ``target`` is a ratio (``20 x``) or an amount (``2 ms``), and ``met`` says whether the median reaches it. It
  is information, never a failure: the exit code is 0 unless something broke, and no test depends on a time.
- Nothing leaves the machine. The model is `bench.model_server` on the loopback address, and every run has a
  home and a working folder of its own. Bytecode is compiled before anything is measured.

The promises are in `bench.rows`: start, terminal, tools, stream, resume, archive, long, search and recall. A
row gives samples and knows nothing of statistics (`bench.figures`), of the order of runs (`bench.session`) or
of tables (`bench.report`).
"""
