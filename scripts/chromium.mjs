// Chromium for the tests in a browser, from the distribution.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { installPackage } from './postgres.mjs'

/** Chromium without a window: the same pages for a third less of a processor. */
const shell = 'chromium-headless-shell'
const others = ['chromium', 'chromium-browser', 'google-chrome']

/** Returns the path of Chromium; null if it is not available. */
export async function prepareChromium() {
  return (
    findBinary([shell]) ??
    (process.env.CI ? await install(shell) : null) ??
    findBinary(others) ??
    (await install(shell)) ??
    (await install('chromium'))
  )
}

async function install(name) {
  return (await installPackage(name, 'Chromium')) ? findBinary([name]) : null
}

function findBinary(names) {
  const folders = (process.env.PATH ?? '').split(':')
  const paths = names.flatMap((name) => folders.map((folder) => join(folder, name)))
  return [process.env.TEST_CHROMIUM, ...paths].find((path) => path && existsSync(path)) ?? null
}
