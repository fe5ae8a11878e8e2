import { expect } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

/** Interpreter with which scripts/test.mjs installed Helm and the validators. */
const python = process.env.TEST_PACKAGING_PYTHON ?? ''

/** The test runner fails in CI when they are missing. */
export const hasPackagingTools = python !== ''

interface Outcome {
  exitCode: number
  stdout: string
  stderr: string
}

/** Runs a command of Helm that contacts no cluster, with values for the chart. */
export function runHelm(command: 'lint' | 'template', values: object, ...args: string[]): Outcome {
  const { exitCode, stdout, stderr } = Bun.spawnSync(
    [join(dirname(python), 'helm'), command, ...args, 'deploy/helm', '--values', '-'],
    { stdin: Buffer.from(JSON.stringify(values)) },
  )
  return { exitCode, stdout: stdout.toString(), stderr: stderr.toString() }
}

/** Expects documents to be valid for a version of Kubernetes, by its schemas, without unknown fields. */
export function expectValidManifests(version: string, ...documents: string[]): void {
  const strict = ['-m', 'kubernetes_validate', '--strict', '-k', version]
  withFiles('yaml', documents, (paths) => expectSuccess(Bun.spawnSync([python, ...strict, ...paths])))
}

/** Expects dashboards to have only what the model of Grafana's dashboards has. */
export function expectValidDashboards(paths: readonly string[]): void {
  expectSuccess(Bun.spawnSync([python, join(import.meta.dir, 'packaging-tools', 'grafana.py'), ...paths]))
}

/** Expects a bill of materials to be valid, by the validator of the SPDX project. */
export function expectValidSpdx(document: unknown): void {
  const tool = ['-m', 'spdx_tools.spdx.clitools.pyspdxtools', '-i']
  withFiles('spdx.json', [JSON.stringify(document)], (paths) =>
    expectSuccess(Bun.spawnSync([python, ...tool, ...paths])),
  )
}

function expectSuccess({ exitCode, stdout, stderr }: Bun.SyncSubprocess): void {
  expect(exitCode, `${stdout}${stderr}`).toBe(0)
}

function withFiles(extension: string, texts: readonly string[], use: (paths: string[]) => void): void {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-packaging-'))
  try {
    const paths = texts.map((_, index) => join(folder, `${index}.${extension}`))
    for (const [index, path] of paths.entries()) writeFileSync(path, texts[index] ?? '')
    use(paths)
  } finally {
    rmSync(folder, { recursive: true })
  }
}
