export interface DiffLine {
  kind: 'same' | 'added' | 'removed'
  text: string
}

/** Comparisons beyond which the middle is shown as replaced: the page must not stall. */
const maxComparisons = 1_000_000

/** Lists the differences between two texts, line by line. */
export function diffLines(before: string, after: string): DiffLine[] {
  const old = splitLines(before)
  const now = splitLines(after)
  const start = countCommon(old, now)
  const end = countCommon(old.slice(start).reverse(), now.slice(start).reverse())
  return [
    ...mark('same', old.slice(0, start)),
    ...diffMiddle(old.slice(start, old.length - end), now.slice(start, now.length - end)),
    ...mark('same', old.slice(old.length - end)),
  ]
}

function splitLines(text: string): string[] {
  return text === '' ? [] : text.split('\n')
}

function countCommon(one: string[], other: string[]): number {
  const different = one.findIndex((line, index) => line !== other[index])
  return different === -1 ? Math.min(one.length, other.length) : different
}

function mark(kind: DiffLine['kind'], lines: string[]): DiffLine[] {
  return lines.map((text) => ({ kind, text }))
}

/** Compares by the longest common subsequence. */
function diffMiddle(old: string[], now: string[]): DiffLine[] {
  if (old.length * now.length > maxComparisons) return [...mark('removed', old), ...mark('added', now)]
  const lengths = measureCommon(old, now)
  const width = now.length + 1
  const lines: DiffLine[] = []
  let at = 0
  let to = 0
  while (at < old.length && to < now.length) {
    const text = old[at] ?? ''
    if (text === now[to]) {
      lines.push({ kind: 'same', text })
      at++
      to++
    } else if ((lengths[(at + 1) * width + to] ?? 0) >= (lengths[at * width + to + 1] ?? 0)) {
      lines.push({ kind: 'removed', text })
      at++
    } else lines.push({ kind: 'added', text: now[to++] ?? '' })
  }
  return [...lines, ...mark('removed', old.slice(at)), ...mark('added', now.slice(to))]
}

/** Counts the lines that the rests have in common, for each pair of positions. */
function measureCommon(old: string[], now: string[]): Uint32Array {
  const width = now.length + 1
  const lengths = new Uint32Array((old.length + 1) * width)
  for (let at = old.length - 1; at >= 0; at--) {
    for (let to = now.length - 1; to >= 0; to--) {
      const below = lengths[(at + 1) * width + to] ?? 0
      const right = lengths[at * width + to + 1] ?? 0
      const diagonal = lengths[(at + 1) * width + to + 1] ?? 0
      lengths[at * width + to] = old[at] === now[to] ? diagonal + 1 : Math.max(below, right)
    }
  }
  return lengths
}

/** Runs of unchanged lines, shortened to those next to a change; null stands for lines that are left out. */
export function foldLines(lines: DiffLine[], context = 3): (DiffLine | null)[] {
  const isNear = lines.map((_, index) =>
    lines.slice(Math.max(0, index - context), index + context + 1).some(({ kind }) => kind !== 'same'),
  )
  return lines.flatMap((line, index) => {
    if (isNear[index]) return [line]
    return index === 0 || isNear[index - 1] ? [null] : []
  })
}
