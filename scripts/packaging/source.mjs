// What is packaged: the version, the commit and its date.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../install.mjs'

/**
 * The date is that of the commit, so that the same source makes the same files. Without a clone, as in a container
 * build, COMMIT and SOURCE_DATE_EPOCH (seconds) say both.
 */
export function readSource() {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  return { version, commit: process.env.COMMIT || readCommit(), date: readDate() }
}

function readCommit() {
  const commit = git('rev-parse', 'HEAD')
  if (commit === null) return null
  return git('status', '--porcelain') === '' ? commit : `${commit}-dirty`
}

function readDate() {
  const seconds = process.env.SOURCE_DATE_EPOCH || git('log', '-1', '--format=%ct')
  return seconds ? new Date(Number(seconds) * 1000).toISOString().replace('.000Z', 'Z') : null
}

/** Null without git, or if this is no clone. */
function git(...args) {
  const { status, stdout } = spawnSync('git', ['-C', root, ...args], { encoding: 'utf8' })
  return status === 0 ? stdout.trim() : null
}
