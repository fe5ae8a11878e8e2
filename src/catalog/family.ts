/** `4`, `4.5`, `4o`, or with one leading letter as in `v3.1` or `k2`. */
const versionPattern = /^[a-z]?(\d+(?:\.\d+)?)o?$/

/** Release stages, which are not part of a family's name. */
const stageWords = new Set(['preview', 'exp', 'experimental', 'beta'])

const pinnedPattern = /-\d{4}-\d{2}-\d{2}$|-latest$/

interface Release {
  /** The name without its version: `claude-sonnet` for `claude-sonnet-4.5`. */
  family: string
  version: number[]
}

/** Undefined for a slug that is not a release of a family: a dated build, a `-latest` alias, or a bare version. */
export function parseRelease(slug: string): Release | undefined {
  if (pinnedPattern.test(slug)) return undefined
  const words: string[] = []
  const version: number[] = []
  for (const word of slug.split('-')) {
    const number = versionPattern.exec(word)?.[1]
    if (number !== undefined) version.push(Number(number))
    else if (!stageWords.has(word)) words.push(word)
  }
  return words.length > 0 ? { family: words.join('-'), version } : undefined
}

/** Versions compare as decimals, because that is how vendors use them: 4.20 is older than 4.3. */
export function compareVersions(a: readonly number[], b: readonly number[]): number {
  const length = Math.max(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const difference = (a[i] ?? -1) - (b[i] ?? -1)
    if (difference !== 0) return difference
  }
  return 0
}
