const minimums: readonly [name: RegExp, tokens: number][] = [
  [/opus-(4-[5-9]|[5-9])|haiku-(4-[5-9]|[5-9])/, 4096],
  [/sonnet-(4-[6-9]|[5-9])|haiku/, 2048],
]

/** The shortest prompt that the vendor of the Messages format caches for a model, by any provider's name of it. */
export function minCachedTokens(model: string): number {
  return minimums.find(([name]) => name.test(model.replaceAll('.', '-')))?.[1] ?? 1024
}
