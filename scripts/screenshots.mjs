// `npm run screenshots`: builds the console, then scripts/screenshots/take.ts takes pictures of it in Chromium.
import { spawnSync } from 'node:child_process'
import { prepareChromium } from './chromium.mjs'
import { ensureInstalled, findBunBinary, root } from './install.mjs'

ensureInstalled({ dev: true })
const chromium = await prepareChromium()
if (!chromium) {
  process.stderr.write('Chromium is missing: install it, or set TEST_CHROMIUM.\n')
  process.exit(1)
}
const run = (command, args, env = process.env) =>
  spawnSync(command, args, { cwd: root, env, stdio: 'inherit' }).status ?? 1
const built = run(process.execPath, ['scripts/console.mjs'])
process.exit(
  built ||
    run(findBunBinary(), ['--no-env-file', 'scripts/screenshots/take.ts'], {
      ...process.env,
      TEST_CHROMIUM: chromium,
    }),
)
