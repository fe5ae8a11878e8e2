/** Ends a transaction whose result is wanted without its changes. */
class DryRunEnd<T> extends Error {
  readonly result: T

  constructor(result: T) {
    super('dry run')
    this.result = result
  }
}

/**
 * Runs a transaction, and rolls it back if it is a dry run: what is reported is what would happen. The transaction
 * passes its result through `finish` as its last step.
 */
export async function dryRun<T>(
  isDryRun: boolean,
  run: (finish: (result: T) => T) => Promise<T>,
): Promise<T> {
  try {
    return await run((result) => {
      if (isDryRun) throw new DryRunEnd(result)
      return result
    })
  } catch (error) {
    if (error instanceof DryRunEnd) return error.result as T
    throw error
  }
}
