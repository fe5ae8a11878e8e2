// Chromium for the tests in a browser, from the distribution.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { installPackage } from './postgres.mjs'

const names = ['chromium', 'chromium-browser', 'google-chrome']

/** Its path; null if it is not available. */
export function prepareChromium() {
  return findBinary() ?? (installPackage('chromium', 'Chromium') ? findBinary() : null)
}

function findBinary() {
  const folders = (process.env.PATH ?? '').split(':')
  const paths = names.flatMap((name) => folders.map((folder) => join(folder, name)))
  return [process.env.TEST_CHROMIUM, ...paths].find((path) => path && existsSync(path)) ?? null
}
