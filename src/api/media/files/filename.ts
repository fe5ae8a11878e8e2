import { invalidFieldError } from '../../../platform/errors/gateway-error.ts'

const maxFilenameLength = 255

/** A name may contain folders; it is only data, never a path on this server's disk. */
export function validateFilename(filename: string | undefined): string {
  const problem = findFilenameProblem(filename ?? '')
  if (filename === undefined || problem) throw invalidFieldError('file', problem ?? 'the filename is missing')
  return filename
}

/** Strips the path on the client's disk, which some libraries send: only its last segment is used. */
export function stripAbsolutePath(filename: string | undefined): string | undefined {
  return filename !== undefined && /^(?:[A-Za-z]:)?[\\/]/.test(filename)
    ? filename.split(/[\\/]/).at(-1)
    : filename
}

function findFilenameProblem(name: string): string | undefined {
  const length = [...name].length
  if (length < 1 || length > maxFilenameLength)
    return `the filename must have 1 to ${maxFilenameLength} characters`
  if (/[<>:"|?*\\\p{Cc}\uFFFD]/u.test(name)) {
    return 'the filename must not contain < > : " | ? * \\ or control characters'
  }
  const segments = name.split('/')
  if (segments.some((segment) => segment === '' || segment === '.' || segment === '..')) {
    return 'the filename must not start or end with "/" or have an empty, "." or ".." folder'
  }
  return undefined
}

/** The nearest valid name to that of a file which a program has made. */
export function toValidFilename(name: string): string {
  const valid = name.replace(/[<>:"|?*\\\p{Cc}\uFFFD]/gu, '_')
  return [...valid].slice(0, maxFilenameLength).join('')
}
