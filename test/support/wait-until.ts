const patienceMs = 60_000

/** Waits for what the process under test does by itself, such as writing a file; a TestTimer passes other waits. */
export async function waitUntil(
  check: () => boolean | Promise<boolean>,
  describe = () => 'it did not happen',
): Promise<void> {
  for (const deadline = performance.now() + patienceMs; !(await check()); await Bun.sleep(10))
    if (performance.now() > deadline) throw new Error(describe())
}
