const patienceMs = 60_000

/** For what the process under test does on its own, such as writing a file; a TestTimer passes other waits. */
export async function waitUntil(
  check: () => boolean | Promise<boolean>,
  describe = () => 'it did not happen',
): Promise<void> {
  for (const deadline = performance.now() + patienceMs; !(await check()); await Bun.sleep(10))
    if (performance.now() > deadline) throw new Error(describe())
}
