/** `4`, `4.5`, `4o`, and with one letter in front as in `v3.1` or `k2`. */
const versionPattern = /^[a-z]?(\d+(?:\.\d+)?)o?$/

/** Stages of one and the same model line. */
const stageWords = new Set(['preview', 'exp', 'experimental', 'beta'])

const pinnedPattern = /-\d{4}-\d{2}-\d{2}$|-latest$/

interface Release {
  /** The name without its version: `claude-sonnet` for `claude-sonnet-4.5`. */
  family: string
  version: number[]
}

/** Undefined for a name that is no release of a family: of one day, of the maker's choice, or only a version. */
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

/** Versions are read as decimals, the way they are named: 4.20 came before 4.3. */
export function compareVersions(a: readonly number[], b: readonly number[]): number {
  const length = Math.max(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const difference = (a[i] ?? -1) - (b[i] ?? -1)
    if (difference !== 0) return difference
  }
  return 0
}
