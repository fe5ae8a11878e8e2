import { mkdirSync, writeFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { GatewayProcess } from '../gateways.ts'
import { Backend } from './http-balancer.ts'
import { Machine, runCommand } from './machine.ts'

const port = 8080

const diskSize = '48M'

/** What a node needs of the lab. */
export interface NodeSettings {
  folder: string
  configFile: string
  databaseUrl: string
  redisUrl: string
}

/** A node of Headgate on a machine of its own. */
export class LabNode {
  readonly machine: Machine
  readonly dataDir: string
  readonly backend: Backend
  readonly #settings: NodeSettings
  #gateway: GatewayProcess | null = null

  private constructor(machine: Machine, settings: NodeSettings) {
    this.machine = machine
    this.#settings = settings
    this.dataDir = join(settings.folder, `node-${machine.address}`)
    this.backend = new Backend(machine.address, port)
    mkdirSync(this.dataDir, { recursive: true })
  }

  static async create(number: number, settings: NodeSettings): Promise<LabNode> {
    return new LabNode(await Machine.create(number), settings)
  }

  get gateway(): GatewayProcess {
    if (!this.#gateway) throw new Error('the node was not started')
    return this.#gateway
  }

  /** Starts the server, with a clock that differs by `clockOffsetMs`. */
  async start(clockOffsetMs = 0): Promise<void> {
    const { configFile, databaseUrl, redisUrl } = this.#settings
    const preload = clockOffsetMs === 0 ? [] : ['--preload', join(import.meta.dir, 'clock-offset.ts')]
    const program = [process.execPath, '--no-env-file', ...preload, resolve('src/cli.ts')]
    const environment = {
      HEADGATE_DATA_DIR: this.dataDir,
      HEADGATE_CONFIG: configFile,
      DATABASE_URL: databaseUrl,
      REDIS_URL: redisUrl,
      HOST: this.machine.address,
      PORT: `${port}`,
      TEST_CLOCK_OFFSET_MS: `${clockOffsetMs}`,
    }
    this.#gateway = new GatewayProcess(environment, [...this.machine.enter, ...program])
    await this.#gateway.ready
  }

  /** Gives it a small disk of its own, which becomes read-only when the file system notices an error. */
  async mountDisk(): Promise<void> {
    await runCommand('truncate', '--size', diskSize, this.#image)
    await runCommand('mkfs.ext4', '-q', '-m', '0', '-O', '^has_journal', this.#image)
    await this.#mount()
  }

  /** Reports an error of the disk to its file system. */
  async failDisk(): Promise<void> {
    const device = await runCommand('findmnt', '-n', '-o', 'SOURCE', this.dataDir)
    writeFileSync(`/sys/fs/ext4/${basename(device.trim())}/trigger_fs_error`, 'test')
  }

  /** Replaces the disk by one with the same files, for which the server must be stopped. */
  async repairDisk(): Promise<void> {
    await this.gateway.kill()
    await runCommand('umount', this.dataDir)
    // Its code is 1 if it has repaired something.
    await runCommand('sh', '-c', 'fsck.ext4 -p -f "$0" || [ $? -eq 1 ]', this.#image)
    await this.#mount()
    await this.start()
  }

  get #image(): string {
    return `${this.dataDir}.img`
  }

  async #mount(): Promise<void> {
    await runCommand('mount', '-o', 'loop,errors=remount-ro', this.#image, this.dataDir)
  }

  /** Sets how many file descriptors the process may have. */
  async limitDescriptors(limit: number): Promise<void> {
    await runCommand('prlimit', `--pid=${this.gateway.pid}`, `--nofile=${limit}`)
  }
}
