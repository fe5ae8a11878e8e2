// `npm run package`: executables that need nothing else, with their bill of materials and checksums, in dist.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ensureInstalled, findBunBinary, root } from './install.mjs'
import { renderLicenses } from './packaging/licenses.mjs'
import { resolveOutput } from './packaging/output.mjs'
import { prepareRuntime } from './packaging/runtimes.mjs'
import { buildSbom } from './packaging/sbom.mjs'
import { readSource } from './packaging/source.mjs'
import { executableName, findOwnTarget, targets } from './packaging/targets.mjs'

const usage = `npm run package                          executables for every platform, in dist
npm run package -- <platform>...         for some: own (this machine), ${Object.keys(targets).join(', ')}
npm run package -- --output <folder>     in another folder, which is emptied
`

const { selected, output } = readArguments(process.argv.slice(2))
ensureInstalled({ dev: false })
ensureInstalled({ dev: false, folder: 'console' })
runOrExit(process.execPath, [join(root, 'scripts', 'console.mjs')])

const source = readSource()
rmSync(output, { recursive: true, force: true })
mkdirSync(output, { recursive: true })
const executables = selected.map(resolveTarget).map((target) => ({
  outfile: join(output, executableName(target)),
  runtime: prepareRuntime(target),
  bunTarget: targets[target].bunTarget,
  isWindows: targets[target].isWindows ?? false,
}))
runOrExit(findBunBinary(), ['scripts/packaging/build.ts', JSON.stringify({ ...source, executables })])
writeFileSync(
  join(output, `headgate-${source.version}.spdx.json`),
  `${JSON.stringify(buildSbom(source), null, 2)}\n`,
)
writeFileSync(join(output, 'THIRD_PARTY_LICENSES.txt'), renderLicenses())
writeFileSync(join(output, 'SHA256SUMS'), renderChecksums())

function readArguments(args) {
  const at = args.indexOf('--output')
  const [, folder] = at < 0 ? [] : args.splice(at, 2)
  const unknown = args.find((name) => name !== 'own' && !Object.hasOwn(targets, name))
  if (unknown !== undefined || (at >= 0 && folder === undefined)) {
    process.stderr.write(unknown === undefined ? usage : `Unknown: ${unknown}.\n\n${usage}`)
    process.exit(2)
  }
  const output = resolveOutput(root, folder)
  if (output === null) {
    process.stderr.write(`${folder} has the source: name a folder that may be emptied.\n`)
    process.exit(2)
  }
  return { selected: args.length > 0 ? args : Object.keys(targets), output }
}

function resolveTarget(name) {
  return name === 'own' ? findOwnTarget(findBunBinary()) : name
}

/** As sha256sum writes and checks them. */
function renderChecksums() {
  const line = (name) =>
    `${createHash('sha256')
      .update(readFileSync(join(output, name)))
      .digest('hex')}  ${name}\n`
  return readdirSync(output).sort().map(line).join('')
}

function runOrExit(command, args) {
  const { status } = spawnSync(command, args, { cwd: root, stdio: ['ignore', 2, 2] })
  if (status !== 0) process.exit(status ?? 1)
}
