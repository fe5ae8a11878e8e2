import { readlinkSync } from 'node:fs'
import { waitUntil } from '../../support/wait-until.ts'

const bridge = 'lab0'
const subnet = '10.77.0'
/** Nobody has it: the bridge delivers a packet for it to no one. */
const nowhere = '02:00:00:00:ff:ff'

/** Runs a command to its end, and returns its output. */
export async function runCommand(...command: string[]): Promise<string> {
  const child = Bun.spawn(command, { stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' })
  const [output, errors] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ])
  if ((await child.exited) !== 0) throw new Error(`${command.join(' ')}: ${errors}`)
  return output
}

/** A machine of the lab: a network namespace with an address on the bridge. */
export class Machine {
  readonly address: string
  /** Goes before a command that runs on the machine. */
  readonly enter: readonly string[]
  readonly #mac: string
  readonly #device: string
  static readonly #all: Machine[] = []

  private constructor(number: number, device: string, enter: readonly string[]) {
    this.address = `${subnet}.${number}`
    this.#mac = `02:00:00:00:00:${number.toString(16).padStart(2, '0')}`
    this.#device = device
    this.enter = enter
  }

  /** The machine of this process, which has the bridge. */
  static async createOwn(number: number): Promise<Machine> {
    const machine = new Machine(number, bridge, [])
    await runCommand('ip', 'link', 'set', 'lo', 'up')
    await runCommand('ip', 'link', 'add', bridge, 'type', 'bridge')
    await machine.#connect()
    return machine
  }

  static async create(number: number): Promise<Machine> {
    const holder = Bun.spawn(['unshare', '--net', 'sleep', 'infinity'], { stdin: 'ignore', stdout: 'ignore' })
    const namespace = `/proc/${holder.pid}/ns/net`
    const own = readlinkSync('/proc/self/ns/net')
    await waitUntil(() => readlinkSync(namespace) !== own)
    const machine = new Machine(number, 'eth0', ['nsenter', `--net=${namespace}`])
    const peer = `lab0-${number}`
    const link = ['ip', 'link', 'add', peer, 'type', 'veth']
    await runCommand(...link, 'peer', 'name', 'eth0', 'netns', `${holder.pid}`)
    await runCommand('ip', 'link', 'set', peer, 'master', bridge, 'up')
    await machine.#run('ip', 'link', 'set', 'lo', 'up')
    await machine.#connect()
    return machine
  }

  /** Drops every packet from this machine to the other one, until `deliver`: TCP learns nothing of it. */
  drop(to: Machine): Promise<void> {
    return this.#setNeighbor(to.address, nowhere)
  }

  deliver(to: Machine): Promise<void> {
    return this.#setNeighbor(to.address, to.#mac)
  }

  async #connect(): Promise<void> {
    const device = this.#device
    await this.#run('ip', 'link', 'set', device, 'address', this.#mac)
    await this.#run('ip', 'address', 'add', `${this.address}/24`, 'dev', device)
    await this.#run('ip', 'link', 'set', device, 'up')
    for (const other of Machine.#all) await Promise.all([this.deliver(other), other.deliver(this)])
    Machine.#all.push(this)
  }

  async #setNeighbor(address: string, mac: string): Promise<void> {
    const neighbor = ['ip', 'neighbor', 'replace', address, 'lladdr', mac, 'dev', this.#device]
    await this.#run(...neighbor, 'nud', 'permanent')
  }

  async #run(...command: string[]): Promise<void> {
    await runCommand(...this.enter, ...command)
  }
}
