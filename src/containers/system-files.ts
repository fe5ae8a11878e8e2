import { accessSync, constants, existsSync, lstatSync, readlinkSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'

/** A path of this machine that the sandbox sees. */
export interface Mount {
  source: string
  target: string
  isWritable?: boolean
}

/** Arguments that show the given paths of this machine, read-only. Links stay links, so that /bin is not /usr/bin twice. */
export function buildSystemArguments(paths: readonly string[]): string[] {
  return paths.filter(existsSync).flatMap((path) => {
    const isLink = lstatSync(path).isSymbolicLink()
    return isLink ? ['--symlink', readlinkSync(path), path] : ['--ro-bind', path, path]
  })
}

/** Files of /etc that programs expect. They name no user of this machine. */
export const etcFiles: Record<string, string> = {
  passwd:
    'root:x:0:0:root:/nonexistent:/usr/sbin/nologin\nuser:x:1000:1000:user:/workspace/home:/bin/bash\nunknown:x:65534:65534:unknown:/nonexistent:/usr/sbin/nologin\n',
  group: 'root:x:0:\nuser:x:1000:\nunknown:x:65534:\n',
  hosts: '127.0.0.1 localhost container\n::1 localhost\n',
  'nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files\n',
}

const programFolders = ['/usr/local/bin', '/usr/bin', '/bin', '/usr/sbin', '/sbin']

/** A program of this machine by path or name; null if there is none. */
export function findProgram(name: string): string | null {
  const candidates = isAbsolute(name) ? [name] : programFolders.map((folder) => join(folder, name))
  return candidates.find(isExecutable) ?? null
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
