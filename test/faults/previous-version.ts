import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { readReleased } from '../../scripts/released/released.ts'

/** The last released version, from its commit. */
export class PreviousVersion {
  readonly #folder = mkdtempSync(join(tmpdir(), 'headgate-previous-'))

  constructor() {
    const { commit } = readReleased()
    const archive = join(this.#folder, 'source.tar')
    run('git', ['archive', '--output', archive, commit])
    run('tar', ['--extract', '--file', archive, '--directory', this.#folder])
    const lockOf = (folder: string) => readFileSync(join(folder, 'package-lock.json'), 'utf8')
    if (lockOf(this.#folder) === lockOf('.'))
      symlinkSync(resolve('node_modules'), join(this.#folder, 'node_modules'))
    else run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--omit=dev'], this.#folder)
  }

  get program(): string[] {
    return [process.execPath, '--no-env-file', join(this.#folder, 'src/cli.ts')]
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true })
  }
}

function run(command: string, args: string[], cwd = '.'): void {
  const { status, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${stderr}`)
}
