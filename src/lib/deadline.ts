/** The work, or the error once it has taken too long; what comes of it later is nobody's concern. */
export async function withDeadline<T>(ms: number, work: Promise<T>, late: () => Error): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(late()), ms)
  try {
    return await Promise.race([work, promise])
  } finally {
    clearTimeout(timer)
  }
}
