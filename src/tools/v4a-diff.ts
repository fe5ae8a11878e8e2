/** Whole files, or sections of an update, in the diff format of patches for models. */
export type PatchOperation =
  | { type: 'create_file' | 'update_file'; path: string; diff: string }
  | { type: 'delete_file'; path: string }

const endOfFile = '*** End of File'

/** Why a diff cannot be applied to any file; null if it is well-formed. It is not applied. */
export function findDiffProblem(type: PatchOperation['type'], diff: string): string | null {
  const lines = diff.split(/\r?\n/)
  // The last line break ends a line.
  if (lines.at(-1) === '') lines.pop()
  if (type === 'create_file') return findCreateProblem(lines)
  return type === 'update_file' ? findUpdateProblem(lines) : null
}

function findCreateProblem(lines: readonly string[]): string | null {
  const index = lines.findIndex((line) => !line.startsWith('+'))
  return index === -1
    ? null
    : `line ${index + 1} of the diff must begin with "+": a new file has added lines only`
}

function findUpdateProblem(lines: readonly string[]): string | null {
  for (const [index, line] of lines.entries()) {
    if (line === endOfFile || line.startsWith('@@') || /^[ +-]/.test(line) || line === '') continue
    return line.startsWith('***')
      ? `line ${index + 1} of the diff is "${line.slice(0, 60)}": a diff has the sections of one file, without headers`
      : `line ${index + 1} of the diff must begin with "@@", " ", "+" or "-"`
  }
  const hasChange = lines.some((line) => /^[+-]/.test(line))
  return hasChange ? null : 'the diff changes nothing: it has no line that begins with "+" or "-"'
}
