// Checks the structure of the source: layers, cycles, lengths, names, and where side effects are allowed.
import { readFileSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'
import { Glob } from 'bun'
import { authSchemes } from '../src/catalog/provider-auth/all.ts'
import { providers } from '../src/catalog/providers/all.ts'
import { destinations } from '../src/delivery/destinations/all.ts'
import { findRetiredWords } from './retired-words.ts'
import { findLongSleeps } from './sleeps.ts'

/** The folders and files of src, lowest first. A module imports values only from its own or a lower one; types may be shared. */
const layers = [
  'config',
  'config.ts',
  'platform',
  'cluster',
  'formats',
  'catalog',
  'ledger',
  'identity',
  'governance',
  'storage',
  'containers',
  'analytics',
  'delivery',
  'access',
  'inference',
  'gateway',
  'http',
  'api',
  'jobs.ts',
  'startup-message.ts',
  'supervisor',
  'main.ts',
  'commands',
  'cli.ts',
]

/** The destinations of the audit log are of other types, one of which has the same name. */
const auditDestinations = /^src\/(api\/governance\/audit\/destination|delivery\/audit-)/

/** The command about the store of analytics, which has the name of a destination. */
const storeCommand = 'src/commands/clickhouse.ts'

const minModules = 50
const maxFileLines = 350
const maxFunctionLines = 60
/** A component of the console: its markup counts. */
const maxComponentLines = 80
const bannedNames = /(^|\/)(index|utils|helpers|types)\.ts$/
/** Data: these files may be long and may name providers. */
const dataFiles =
  /^src\/(catalog\/providers|platform\/db\/migrations|inference\/web\/engines)\/|^src\/(formats\/vocabulary|platform\/db\/schema|api\/catalog\/byok\/providers|formats\/synonym-names|api\/imports\/[\w-]+\/vendors)\.ts$/
/** The HTTP clients: to providers, to addresses that users choose, and to the store of files. */
const egressModules = new Set([
  'src/inference/upstream/send.ts',
  'src/platform/http/egress-client.ts',
  'src/platform/files/s3-store.ts',
  'src/analytics/clickhouse/client.ts',
  // Commands call the server that their user names.
  'src/commands/configuration/client.ts',
])
/** Modules that send to providers. What they send is of a type that only the guardrails make. */
const senders: ReadonlySet<string> = new Set([
  'src/api/media/files/vendor-requests.ts',
  'src/inference/media/dispatch.ts',
  'src/inference/count-tokens.ts',
  'src/inference/passthrough/relay.ts',
  'src/inference/text/dispatch-stream.ts',
  'src/inference/text/dispatch-whole.ts',
  // Polls a reply of a request that was sent by a module above.
  'src/inference/upstream/decode-reply.ts',
  'src/inference/upstream/reply-events.ts',
  // Reads a list of models, without a prompt.
  'src/inference/upstream/list-models.ts',
  // A fixed text, which is nobody's prompt.
  'src/inference/upstream/test-credential.ts',
  'src/inference/video/upstream.ts',
])
const senderImport = /^import \{[^}]*\bsend\b[^}]*\} from '[^']*\/send\.ts'/m
const parseCall = /(?<!function )\bparse(?:Media)?Request\(/
const guardCall = /\b(?:guard|inspect)(?:Request|TokenCount|Media)\(|\bprepare: guardMedia\b/
const queryCall = /\.(selectFrom|insertInto|updateTable|deleteFrom)\(/
const queryHomes =
  /(^|\/)(?:[\w-]+-)?store\.ts$|^src\/(?:(?:analytics|catalog|identity|ledger|platform\/db|storage)\/|(?:delivery|gateway|governance|http)\/[\w-]+\.ts$)/

interface Module {
  path: string
  text: string
  imports: string[]
  /** Imports without those of types only. */
  valueImports: string[]
}

const problems: string[] = []
const modules = readModules('src/**/*.ts')
// The types of the API are generated.
const consoleModules = readModules('console/src/**/*.{ts,tsx}').filter(
  ({ path }) => path !== 'console/src/api/schema.ts',
)

if (modules.length < minModules)
  problems.push(`only ${modules.length} modules found: the check does not see the source`)
for (const module of modules) {
  checkLayers(module)
  checkNames(module)
  checkWords(module)
  checkSideEffects(module)
  checkGuards(module)
  checkLengths(module)
}
checkCycles()
checkFolderCycles()
if (consoleModules.length < minModules / 2)
  problems.push(`only ${consoleModules.length} modules of the console found`)
for (const module of consoleModules) {
  checkConsoleImports(module)
  checkWords(module)
  checkLengths(module)
}

const testFiles = listTestFiles()
if (testFiles.length < minModules) problems.push(`only ${testFiles.length} test files found`)
for (const path of testFiles) problems.push(...findLongSleeps(path, readFileSync(path, 'utf8')))

if (problems.length > 0) {
  process.stderr.write(`${problems.join('\n')}\n`)
  process.exit(1)
}
process.stdout.write(`shape: ${modules.length + consoleModules.length} modules, no problems\n`)

function readModules(pattern: string): Module[] {
  const [ts, tsx] = [new Bun.Transpiler({ loader: 'ts' }), new Bun.Transpiler({ loader: 'tsx' })]
  const paths = [...new Glob(pattern).scanSync('.')].filter((path) => !/\.test\.tsx?$/.test(path)).sort()
  return paths.map((path) => {
    const text = readFileSync(path, 'utf8')
    // The transpiler drops type-only imports, so they are read from the text.
    const typeImports = [...text.matchAll(/from '(\.[^']+)'/g)].map((match) => match[1] ?? '')
    const values = (path.endsWith('.tsx') ? tsx : ts).scanImports(text).map(({ path }) => path)
    const listLocal = (targets: string[]) => {
      const local = targets.filter((target) => target.startsWith('.') && /\.tsx?$/.test(target))
      return [...new Set(local.map((target) => normalize(join(dirname(path), target))))]
    }
    return {
      path,
      text,
      imports: listLocal([...values, ...typeImports]),
      valueImports: listLocal(values),
    }
  })
}

/** Tests and what they import; not those of `npm run test:long`. */
function listTestFiles(): string[] {
  const paths = ['src/**/*.test.ts', 'test/**/*.ts'].flatMap((pattern) => [
    ...new Glob(pattern).scanSync('.'),
  ])
  return paths.filter((path) => !/node_modules|^test\/long\//.test(path))
}

function layerOf(path: string): number {
  const folder = relative('src', path).split('/')[0] ?? ''
  const layer = layers.indexOf(folder)
  if (layer < 0) problems.push(`${path}: ${folder} has no layer in scripts/shape.ts`)
  return layer
}

/** An import creates records of every area, so it is in none. */
function areaOf(path: string): string | undefined {
  if (path.startsWith('src/api/imports/')) return undefined
  return /^src\/api\/([^/]+\/[^/]+)\//.exec(path)?.[1]
}

function checkLayers({ path, imports, valueImports }: Module): void {
  for (const target of valueImports) {
    if (layerOf(target) > layerOf(path)) problems.push(`${path}: imports from a higher layer, ${target}`)
  }
  for (const target of imports) {
    const [from, to] = [areaOf(path), areaOf(target)]
    if (from && to && from !== to) problems.push(`${path}: imports from another area, ${target}`)
  }
}

/** The console knows only the API; a screen knows no other screen. */
function checkConsoleImports({ path, imports }: Module): void {
  const screenOf = (module: string) => /^console\/src\/screens\/([^/]+)\//.exec(module)?.[1]
  for (const target of imports) {
    if (!target.startsWith('console/src/'))
      problems.push(`${path}: imports from outside the console, ${target}`)
    const [from, to] = [screenOf(path), screenOf(target)]
    if (from && to && from !== to) problems.push(`${path}: imports from another screen, ${target}`)
  }
}

function checkCycles(): void {
  findCycles('cycle', new Map(modules.map(({ path, imports }) => [path, imports])))
}

/** The folders of what serves a request: one that imports values of another is not imported by it. */
function checkFolderCycles(): void {
  const folders = new Map<string, string[]>()
  for (const { path, valueImports } of modules) {
    const folder = servingFolderOf(path)
    if (folder === null) continue
    const targets = valueImports.map(servingFolderOf).filter((target) => target !== null && target !== folder)
    folders.set(folder, [...(folders.get(folder) ?? []), ...targets.map(String)])
  }
  findCycles('cycle of folders', folders)
}

function servingFolderOf(path: string): string | null {
  return /^src\/inference\/(?:[^/]+(?=\/))?/.exec(path)?.[0] ?? null
}

function findCycles(problem: string, edges: ReadonlyMap<string, readonly string[]>): void {
  const done = new Set<string>()
  const visit = (node: string, trail: string[]): void => {
    if (trail.includes(node))
      problems.push(`${problem}: ${[...trail.slice(trail.indexOf(node)), node].join(' -> ')}`)
    if (trail.includes(node) || done.has(node)) return
    for (const target of edges.get(node) ?? []) visit(target, [...trail, node])
    done.add(node)
  }
  for (const node of edges.keys()) visit(node, [])
}

/** Shared code reads properties of providers, destinations and auth schemes; it never checks which one it has. */
function checkNames({ path, text }: Module): void {
  if (bannedNames.test(path)) problems.push(`${path}: a file name without meaning`)
  if (dataFiles.test(path)) return
  for (const { slug } of providers) {
    if (new RegExp(`['"\`]${slug.replace('/', '\\/')}['"\`]`).test(text)) {
      problems.push(`${path}: names the provider ${slug}`)
    }
  }
  checkSchemeNames({ path, text })
  if (path.startsWith('src/delivery/destinations/') || auditDestinations.test(path) || path === storeCommand)
    return
  // Services of external checks have names of their own.
  if (path.startsWith('src/inference/guard/checks/')) return
  for (const { type } of destinations) {
    if (new RegExp(`['"\`]${type}['"\`]`).test(text)) problems.push(`${path}: names the destination ${type}`)
  }
}

/** Schemes with options: `none` and `token` are what every provider has. */
function checkSchemeNames({ path, text }: Pick<Module, 'path' | 'text'>): void {
  if (path.startsWith('src/catalog/provider-auth/')) return
  for (const { kind, format } of authSchemes) {
    if (!format) continue
    const fields = Object.keys(format.overrides?.fields ?? {})
    if (new RegExp(`['"\`]${kind}['"\`]${fields.map((name) => `|\\b${name}\\b`).join('')}`).test(text))
      problems.push(`${path}: names the auth scheme ${kind}`)
  }
}

function checkWords({ path, text }: Module): void {
  const words = findRetiredWords(text)
  if (words.length > 0) problems.push(`${path}: retired words, ${words.join(', ')}`)
}

function checkSideEffects({ path, text }: Module): void {
  if (path !== 'src/config.ts' && /process\.env|Bun\.env/.test(text))
    problems.push(`${path}: reads the environment`)
  if (queryCall.test(text) && !queryHomes.test(path)) problems.push(`${path}: a query outside a store`)
  if (/insertInto\('ledger_entries'\)/.test(text) && !path.startsWith('src/ledger/')) {
    problems.push(`${path}: writes ledger entries`)
  }
  if (!egressModules.has(path) && /(?<![.\w])fetch\(|from 'node:https?'/.test(text)) {
    problems.push(`${path}: sends requests of its own`)
  }
  if (/^(?!\s*\*).*AbortSignal\.(any|timeout)\b/m.test(text))
    problems.push(
      `${path}: uses AbortSignal.any or .timeout, which leak; see src/platform/concurrency/linked-abort-controller.ts`,
    )
}

/** Checks that everything which is sent to a provider passes the guardrails. */
function checkGuards({ path, text }: Module): void {
  if (senderImport.test(text) && !senders.has(path)) problems.push(`${path}: sends requests to providers`)
  // The guardrails have a prompt classified that has passed its filters.
  const isGuard = /^src\/inference\/(?:guard|stages)\//.test(path)
  if (parseCall.test(text) && !guardCall.test(text) && !isGuard)
    problems.push(`${path}: parses a request to a model without guardrails`)
}

/** Relies on the formatter: the end of a function has the indentation of its start. */
function checkLengths({ path, text }: Module): void {
  const lines = text.split('\n')
  if (lines.length > maxFileLines && !dataFiles.test(path)) {
    problems.push(`${path}: ${lines.length} lines`)
  }
  lines.forEach((line, start) => {
    const indent = /^(\s*)(?:export )?(?:async )?(?:function\b|(?:async )?#?\w+\([^)]*\).*\{$)/.exec(
      line,
    )?.[1]
    if (indent === undefined || /^\s*(if|for|while|switch|return)\b/.test(line)) return
    const length = lines.slice(start).indexOf(`${indent}}`)
    const maxLines = path.endsWith('.tsx') ? maxComponentLines : maxFunctionLines
    if (length > maxLines) problems.push(`${path}:${start + 1}: a function of ${length} lines`)
  })
}
