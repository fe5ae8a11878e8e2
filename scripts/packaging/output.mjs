// The folder of `npm run package`, which is emptied first.
import { isAbsolute, relative, resolve } from 'node:path'

/** Null if the folder has the source in it. */
export function resolveOutput(root, folder) {
  const output = resolve(root, folder ?? 'dist')
  const path = relative(output, root)
  const isOutside = path.startsWith('..') || isAbsolute(path)
  return isOutside ? output : null
}
