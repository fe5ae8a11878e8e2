// The temporary folder of a run: in memory if possible, because the tests create many thousands of small files.
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const memory = '/dev/shm'
/** Space that must be free: several times what the tests use. */
const neededBytes = 4 * 1024 ** 3

/** Makes it the temporary folder of this process and those it starts; returns how to remove it. */
export function createScratchFolder() {
  const folder = mkdtempSync(join(isUsable() ? memory : tmpdir(), 'headgate-tests-'))
  // PostgreSQL may run as another user.
  chmodSync(folder, 0o711)
  process.env.TMPDIR = folder
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}

/** Containers often have little of it, or do not run programs from it. */
function isUsable() {
  if (!existsSync(memory)) return false
  const { bavail, bsize } = statfsSync(memory)
  if (bavail * bsize < neededBytes) return false
  const folder = mkdtempSync(join(memory, 'headgate-probe-'))
  const program = join(folder, 'program')
  writeFileSync(program, '#!/bin/sh\n', { mode: 0o700 })
  const { status } = spawnSync(program)
  rmSync(folder, { recursive: true })
  return status === 0
}
