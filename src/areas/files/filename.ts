import { invalidFieldError } from '../../errors/gateway-error.ts'

const maxFilenameLength = 255

/** A name may hold folders; it is data only, and never a path on this server's disk. */
export function validateFilename(filename: string | undefined): string {
  const problem = findFilenameProblem(filename ?? '')
  if (filename === undefined || problem) throw invalidFieldError('file', problem ?? 'the filename is missing')
  return filename
}

/** Some libraries send the whole path of the file on the client's disk: only its name concerns us. */
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
    return 'the filename must not begin or end with "/" nor have an empty, "." or ".." folder'
  }
  return undefined
}

/** For a download: the last segment alone, in the one encoding that every name survives (RFC 6266). */
export function formatContentDisposition(filename: string): string {
  const name = filename.slice(filename.lastIndexOf('/') + 1)
  const encoded = encodeURIComponent(name).replace(/['()*]/g, (c) => `%${c.charCodeAt(0).toString(16)}`)
  return `attachment; filename*=UTF-8''${encoded}`
}
