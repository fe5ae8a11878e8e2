/** Whole files, or sections of an update, in the diff format of patches for models. */
export type PatchOperation =
  | { type: 'create_file' | 'update_file'; path: string; diff: string }
  | { type: 'delete_file'; path: string }

const endOfFile = '*** End of File'

/** Finds the reason why a diff cannot be applied to any file; null if it is well-formed. The diff is not applied. */
export function findDiffProblem(type: PatchOperation['type'], diff: string): string | null {
  if (type === 'create_file') return findCreateProblem(diff)
  return type === 'update_file' ? findUpdateProblem(diff) : null
}

interface Line {
  /** The line number, from 1. */
  number: number
  start: number
  /** The end without the line break. */
  end: number
}

/** A diff can have a line for each character, so the lines are not copied. The last line break ends a line. */
function* readLines(diff: string): Generator<Line> {
  const line = { number: 1, start: 0, end: 0 }
  for (; line.start < diff.length; line.number++) {
    const lineBreak = diff.indexOf('\n', line.start)
    const next = lineBreak === -1 ? diff.length : lineBreak
    const hasReturn = lineBreak !== -1 && diff.charAt(next - 1) === '\r' && next > line.start
    line.end = hasReturn ? next - 1 : next
    yield line
    line.start = next + 1
  }
}

function findCreateProblem(diff: string): string | null {
  for (const { number, start } of readLines(diff))
    if (diff.charAt(start) !== '+')
      return `line ${number} of the diff must begin with "+": a new file has added lines only`
  return null
}

function findUpdateProblem(diff: string): string | null {
  let hasChange = false
  for (const { number, start, end } of readLines(diff)) {
    const first = start === end ? '' : diff.charAt(start)
    if (first === '+' || first === '-') hasChange = true
    else if (first !== '' && first !== ' ' && !diff.startsWith('@@', start)) {
      if (end - start === endOfFile.length && diff.startsWith(endOfFile, start)) continue
      return diff.startsWith('***', start)
        ? `line ${number} of the diff is "${diff.slice(start, Math.min(end, start + 60))}": a diff has the sections of one file, without headers`
        : `line ${number} of the diff must begin with "@@", " ", "+" or "-"`
    }
  }
  return hasChange ? null : 'the diff changes nothing: it has no line that begins with "+" or "-"'
}
