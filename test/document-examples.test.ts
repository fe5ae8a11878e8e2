import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readCodeBlocks } from './support/deliver.ts'
import { startTestServer, type TestServer } from './support/harness.ts'
import { allowPassthrough } from './support/passthrough.ts'
import { program } from './support/program.ts'

/** Pages whose commands run against the sandbox, and the statuses of errors that they show. */
const pages: Record<string, { errors?: number[] }> = {
  limits: {},
  priorities: {},
  tags: {},
  'end-users': {},
  routing: { errors: [408, 503] },
  'model-aliases': {},
  'semantic-cache': {},
  'routing-rules': { errors: [403] },
  'configuration-as-code': {},
  shadow: {},
  passthrough: {},
}

/** Writes the status of each request to the standard error, where no pipe takes it. */
const preamble = `set -eu
curl() { command curl -w '%{stderr}status %{http_code}\\n' "$@"; }
headgate() {
  local code=0
  command "$HEADGATE_PROGRAM" $HEADGATE_ARGUMENTS "$@" || code=$?
  if [ "$code" = 1 ]; then echo 'status 500' >&2; else echo 'status 200' >&2; fi
  return "$code"
}
`

describe('the commands of', () => {
  let server: TestServer
  let folder: string
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'headgate-examples-'))
    server = await startTestServer('sqlite', { settings: 'semantic_cache: { model: sandbox/embedder }' })
  })
  afterEach(async () => {
    rmSync(folder, { recursive: true })
    await server.stop()
  })

  test.each(Object.entries(pages))('docs/%s.md', async (page, { errors = [] }) => {
    const blocks = (await readCodeBlocks(`docs/${page}.md`, 'sh')).filter((block) => !block.includes('npm '))
    const script = blocks
      .join('\n')
      .replaceAll(/^export (?:\w+_KEY|HEADGATE\w*)=.*$/gm, '')
      .replaceAll(/http:\/\/(?:127\.0\.0\.1|localhost):8080/g, server.url)
    if (page === 'passthrough')
      allowPassthrough(server, { slug: 'openai', paths: ['/files', '/fine_tuning/**', '/vector_stores'] })
    const { body } = await server.call('POST', '/keys', { body: { name: page } })
    const shell = Bun.spawn(['bash', '-c', preamble + script], {
      cwd: folder,
      env: {
        ...{ HEADGATE_PROGRAM: program[0], HEADGATE_ARGUMENTS: program.slice(1).join(' ') },
        ...{ HEADGATE_MANAGEMENT_KEY: server.own.managementKey },
        PATH: process.env.PATH ?? '',
        ...{ HEADGATE: `${server.url}/api/v1`, HEADGATE_URL: server.url },
        ...{ MANAGEMENT_KEY: server.own.managementKey, INFERENCE_KEY: body.key, KEY_HASH: body.data.hash },
      },
      stdout: 'pipe',
      stderr: 'pipe',
    })
    const [output, messages, code] = await Promise.all([
      new Response(shell.stdout).text(),
      new Response(shell.stderr).text(),
      shell.exited,
    ])
    expect([code, code === 0 || messages]).toEqual([0, true])
    const statuses = [...messages.matchAll(/^status (\d+)$/gm)].map(([, status]) => Number(status))
    expect(statuses.length).toBeGreaterThan(0)
    const unexpected = statuses.filter((status) => status >= 400 && !errors.includes(status))
    expect([unexpected, unexpected.length === 0 || output]).toEqual([[], true])
    expect([...new Set(statuses.filter((status) => status >= 400))].toSorted()).toEqual(errors)
  })
})
