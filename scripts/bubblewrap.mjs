// bubblewrap for the tests of containers, from the distribution.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { installPackage } from './postgres.mjs'

/** Returns the path of bubblewrap; null if it is not available, or cannot create a sandbox on this machine. */
export async function prepareBubblewrap() {
  if (process.platform !== 'linux') return null
  const bwrap = findBinary() ?? ((await installPackage('bubblewrap', 'bubblewrap')) ? findBinary() : null)
  if (!bwrap) return null
  const probe = ['--unshare-all', '--unshare-user', '--disable-userns', '--ro-bind', '/', '/', 'true']
  return spawnSync(bwrap, probe, { stdio: 'ignore' }).status === 0 ? bwrap : null
}

function findBinary() {
  const folders = (process.env.PATH ?? '').split(':')
  return folders.map((folder) => join(folder, 'bwrap')).find((path) => existsSync(path)) ?? null
}
