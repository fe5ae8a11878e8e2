// The long run: the command-line agents that must work with Headgate, each with a small task. They are large,
// so they are installed only here, into a folder of their own.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { bunBinary, ensureInstalled, root } from './install.mjs'

const agents = { '@anthropic-ai/claude-code': '2.1.325', '@openai/codex': '0.166.0' }
const folder = join(root, 'test', 'long', '.agents')

ensureInstalled({ dev: true })
ensureInstalled({ dev: true, folder: 'test/clients' })
installAgents()

const { status } = spawnSync(bunBinary(), ['--no-env-file', 'test', '--timeout', '120000', './test/long'], {
  cwd: root,
  stdio: 'inherit',
  env: { ...process.env, HEADGATE_TEST_AGENTS: join(folder, 'node_modules') },
})
process.exit(status ?? 1)

/** No script of theirs is run: the programs are in the packages for each platform, and the wrappers find them there. */
function installAgents() {
  if (Object.entries(agents).every(([name, version]) => installedVersion(name) === version)) return
  mkdirSync(folder, { recursive: true })
  process.stderr.write('Installing the agents (about 800 MB)...\n')
  const wanted = Object.entries(agents).map(([name, version]) => `${name}@${version}`)
  const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  const kept = ['--no-save', '--no-package-lock']
  const result = spawnSync('npm', ['install', '--prefix', folder, ...quiet, ...kept, ...wanted], {
    cwd: folder,
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32',
  })
  if (result.status !== 0) {
    process.stderr.write('The agents could not be installed; see the lines above.\n')
    process.exit(1)
  }
}

function installedVersion(name) {
  const file = join(folder, 'node_modules', name, 'package.json')
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).version : undefined
}
