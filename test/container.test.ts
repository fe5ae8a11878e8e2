import { describe, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { Glob } from 'bun'
import { parse } from 'yaml'
import { runtimeSettings } from '../scripts/runtime-settings.mjs'
import { readConfig } from '../src/config.ts'
import { settingsFields } from '../src/gateway/settings.ts'
import { buildSystemRoutes } from '../src/http/system-routes.ts'

interface Service {
  image?: string
  environment: Record<string, string | number>
  volumes?: string[]
  healthcheck?: { test: string[] }
}

interface Compose {
  services: Record<string, Service>
  volumes?: Record<string, null>
}

const dockerfile = await Bun.file('Dockerfile').text()
const ignoreLines = (await Bun.file('.dockerignore').text()).split('\n').filter((line) => /^[^#]/.test(line))

/** The last line that matches decides. A line that names a folder covers what is in it. */
function reachesBuilder(path: string): boolean {
  return ignoreLines.reduce((reaches, line) => {
    const pattern = line.replace(/^!/, '')
    const matches = new Glob(pattern).match(path) || new Glob(`${pattern}/**`).match(path)
    return matches ? line.startsWith('!') : reaches
  }, true)
}

const composeFiles = [
  'compose.yaml',
  'compose.postgres.yaml',
  'compose.valkey.yaml',
  'compose.clickhouse.yaml',
  'compose.monitoring.yaml',
]

async function readCompose(file: string): Promise<Compose> {
  return parse(await Bun.file(file).text())
}

describe('the container image', () => {
  test('runs with the settings of the launcher', () => {
    for (const [name, value] of Object.entries(runtimeSettings))
      expect(dockerfile).toContain(`${name}=${value} `)
  })

  test('has every file that the server imports', async () => {
    const transpiler = new Bun.Transpiler({ loader: 'ts' })
    const seen = new Set(['scripts/packaging/entry.ts', 'scripts/packaging/build.ts', 'scripts/package.mjs'])
    for (const path of seen) {
      if (!/\.(ts|mjs)$/.test(path)) continue
      for (const { path: target } of transpiler.scanImports(await Bun.file(path).text())) {
        if (target.startsWith('.')) seen.add(normalize(join(dirname(path), target)))
      }
    }
    expect(seen.size).toBeGreaterThan(400)
    expect([...seen].filter((path) => !reachesBuilder(path))).toEqual([])
  })

  test('has no data, secrets or tests', () => {
    const kept = ['.env', 'headgate.yaml', 'data/secret.key', '.git/config', 'node_modules/zod/index.js']
    const built = ['console/node_modules/react/index.js', 'console/dist/manifest.json']
    expect(
      [...kept, ...built, 'src/config.test.ts', 'test/process-and-cli.test.ts'].filter(reachesBuilder),
    ).toEqual([])
  })

  test('is made of files that exist and reach the builder', () => {
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, files = '']) =>
      files.split(' '),
    )
    expect(copied).toContain('src')
    // The server sends it.
    expect(copied).toContain('openapi.json')
    expect(copied.filter((path) => !existsSync(path))).toEqual([])
    expect(copied.filter((path) => path !== 'src' && !reachesBuilder(path))).toEqual([])
  })

  test('starts with settings that are valid, on its volume and for the network', () => {
    const [, block = ''] = dockerfile.match(/^ENV ((?:.*\\\n)*.*)$/m) ?? []
    const environment = Object.fromEntries(
      [...block.matchAll(/(\w+)=(\S+)/g)].map(([, name, value]) => [name, value]),
    )
    const { host, dataDir } = readConfig(environment)
    expect({ host, dataDir }).toEqual({ host: '0.0.0.0', dataDir: '/data' })
    expect(dockerfile).toContain(`\nVOLUME ${dataDir}\n`)
    // A number: Kubernetes compares it with runAsNonRoot.
    const [, uid = ''] = dockerfile.match(/--uid (\d+)/) ?? []
    expect(dockerfile).toContain(`\nUSER ${uid}:${uid}\n`)
  })

  test('has a health check at a path that exists', () => {
    const [, path] = dockerfile.match(/HEALTHCHECK[\s\S]*?'(\/\w+)'/) ?? []
    expect(buildSystemRoutes().map((route) => route.path)).toContain(path ?? '')
  })
})

describe('the compose files', () => {
  test('keep data in volumes that are declared', async () => {
    for (const file of composeFiles) {
      const { services, volumes = {} } = await readCompose(file)
      const mounted = Object.values(services).flatMap(({ volumes = [] }) =>
        volumes.map((line) => line.split(':')[0] ?? ''),
      )
      const isFile = (path: string) => path.startsWith('./')
      expect(mounted.filter((path) => !isFile(path)).sort()).toEqual(Object.keys(volumes).sort())
      expect(mounted.filter(isFile).filter((path) => !existsSync(path))).toEqual([])
    }
  })

  test('need no variable without PostgreSQL', async () => {
    expect(await Bun.file('compose.yaml').text()).not.toContain(':?')
    const { services } = await readCompose('compose.yaml')
    const environment = Object.fromEntries(
      Object.entries(services.headgate?.environment ?? {}).map(([name, value]) => [name, String(value)]),
    )
    expect(readConfig(environment)).toMatchObject({ host: '0.0.0.0', port: 8080, dataDir: '/data' })
  })

  test('with PostgreSQL ask for both secrets, and say how to make one', async () => {
    const text = await Bun.file('compose.postgres.yaml').text()
    const variables = [...text.matchAll(/\$\{(\w+)([^}]*)\}/g)]
    expect(new Set(variables.map(([, name]) => name))).toEqual(
      new Set(['POSTGRES_PASSWORD', 'HEADGATE_SECRET_KEY']),
    )
    for (const [, name, message] of variables) expect(message).toStartWith(`:?Set ${name} in .env`)
    const { services } = parse(text.replace(/\$\{\w+[^}]*\}/g, '9f86d081884c7d659a2feaa0c55ad015')) as Compose
    const environment = services.headgate?.environment as Record<string, string>
    expect(readConfig(environment).databaseUrl).toContain('@postgres:5432/headgate')
    expect(services.postgres?.environment).toMatchObject({
      POSTGRES_USER: 'headgate',
      POSTGRES_DB: 'headgate',
    })
  })
})

test.each([
  ['compose.valkey.yaml', 'VALKEY_PASSWORD', 'REDIS_URL', 'valkey', 6379],
  ['compose.clickhouse.yaml', 'CLICKHOUSE_PASSWORD', 'CLICKHOUSE_URL', 'clickhouse', 8123],
])('%s asks for %s, and leads to its service', async (file, password, variable, name, port) => {
  const text = await Bun.file(file).text()
  for (const [, asked, message] of text.matchAll(/\$\{(\w+)([^}]*)\}/g)) {
    expect(asked).toBe(password)
    expect(message).toStartWith(`:?Set ${password} in .env`)
  }
  const { services } = parse(text.replace(/\$\{\w+[^}]*\}/g, '9f86d081884c7d659a2feaa0c55ad015')) as Compose
  const environment = services.headgate?.environment as Record<string, string>
  expect(new URL(environment[variable] ?? '').host).toBe(`${name}:${port}`)
  expect(() => readConfig(environment)).not.toThrow()
  expect(services[name]?.healthcheck).toBeDefined()
})

describe('the unit of systemd', () => {
  const path = 'deploy/headgate.service'

  test('starts the launcher on its state directory, and leaves time to stop', async () => {
    const unit = await Bun.file(path).text()
    const [, launcher = ''] = unit.match(/^ExecStart=\S+ \/opt\/headgate\/(\S+) serve$/m) ?? []
    expect(existsSync(launcher)).toBe(true)
    expect(unit).toContain('\nEnvironment=HEADGATE_DATA_DIR=/var/lib/headgate\nStateDirectory=headgate\n')
    const { drain } = settingsFields.shape.limits.parse({})
    expect(Number(unit.match(/^TimeoutStopSec=(\d+)$/m)?.[1])).toBeGreaterThan(drain / 1000 + 5)
  })

  test.if(Bun.which('systemd-analyze') !== null)('is exposed little, by the measure of systemd', () => {
    const command = ['systemd-analyze', 'security', '--offline=true', '--threshold=20', path]
    const { exitCode, stdout } = Bun.spawnSync(command, { stderr: 'ignore' })
    expect({ exitCode, last: stdout.toString().trim().split('\n').at(-1) }).toMatchObject({ exitCode: 0 })
  })
})
