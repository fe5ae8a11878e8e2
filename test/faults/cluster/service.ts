import { join } from 'node:path'
import { Machine } from './machine.ts'
import type { ServiceMessage, ServiceState } from './service-address.ts'

type Target = ServiceState['target']

/** A service that nodes find at one address, whichever server has it. */
export class Service {
  readonly machine: Machine
  readonly port: number
  readonly #process: Bun.Subprocess
  #state: ServiceState

  private constructor(machine: Machine, target: Target, process: Bun.Subprocess) {
    this.machine = machine
    this.port = target.port
    this.#state = { target, delayMs: 0 }
    this.#process = process
  }

  static async create(number: number, target: Target): Promise<Service> {
    const machine = await Machine.create(number)
    const script = join(import.meta.dir, 'service-address.ts')
    const options = [machine.address, `${target.port}`, JSON.stringify(target)]
    const { promise: listening, resolve } = Promise.withResolvers<void>()
    const child = Bun.spawn([...machine.enter, process.execPath, '--no-env-file', script, ...options], {
      stdin: 'ignore',
      ipc: () => resolve(),
    })
    await listening
    return new Service(machine, target, child)
  }

  /** Connections to the former server are reset. */
  moveTo(target: Target): void {
    this.#change({ target })
  }

  delay(delayMs: number): void {
    this.#change({ delayMs })
  }

  resetClientsOf(machine: Machine): void {
    this.#send({ resetClientsOf: machine.address })
  }

  #change(changes: Partial<ServiceState>): void {
    this.#state = { ...this.#state, ...changes }
    this.#send({ state: this.#state })
  }

  #send(message: ServiceMessage): void {
    this.#process.send(message)
  }
}
