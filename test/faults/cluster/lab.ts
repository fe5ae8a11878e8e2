import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { waitUntil } from '../../support/wait-until.ts'
import { Clients } from '../clients.ts'
import { readLedgerSnapshot, reconcileBooks } from '../reconciliation.ts'
import { buildSettings, startVendor, type Vendor } from '../vendor.ts'
import { HttpBalancer } from './http-balancer.ts'
import { LabNode } from './lab-node.ts'
import { Machine } from './machine.ts'
import { PostgresServer } from './postgres-server.ts'
import { Service } from './service.ts'
import { ValkeyServer } from './valkey-server.ts'

const database = 'headgate'
/** Longer than the balancer takes to notice. */
const drainDelaySeconds = 2
const balancerPort = 8000
/** Numbers of the machines. */
const numbers = { own: 1, primary: 11, standby: 12, database: 30, valkey: 40, firstNode: 21 }

interface Servers {
  own: Machine
  primary: PostgresServer
  standby: PostgresServer
  database: Service
  valkey: ValkeyServer
}

/** Three nodes behind a balancer, with PostgreSQL and a standby, Valkey and a provider, each on its own machine. */
export class Lab {
  readonly folder: string
  readonly vendor: Vendor
  readonly clients = new Clients()
  readonly nodes: readonly [LabNode, LabNode, LabNode]
  readonly balancer: HttpBalancer
  readonly own: Machine
  readonly database: Service
  readonly valkey: ValkeyServer
  /** The server that has the database now. */
  primary: PostgresServer
  readonly #standby: PostgresServer

  private constructor(folder: string, vendor: Vendor, nodes: [LabNode, LabNode, LabNode], servers: Servers) {
    this.folder = folder
    this.vendor = vendor
    this.nodes = nodes
    this.balancer = new HttpBalancer(nodes.map(({ backend }) => backend))
    this.own = servers.own
    this.database = servers.database
    this.valkey = servers.valkey
    this.primary = servers.primary
    this.#standby = servers.standby
  }

  static async create(valkeyProgram: string): Promise<Lab> {
    const folder = mkdtempSync(join(tmpdir(), 'headgate-lab-'))
    // PostgreSQL runs as another user.
    chmodSync(folder, 0o711)
    const own = await Machine.createOwn(numbers.own)
    const vendor = startVendor(own.address)
    const primary = await PostgresServer.createPrimary(numbers.primary, join(folder, 'postgres-1'))
    await primary.query(`create database ${database}`)
    const standby = await PostgresServer.createStandby(numbers.standby, join(folder, 'postgres-2'), primary)
    const service = await Service.create(numbers.database, primary.target)
    const valkey = await ValkeyServer.create(numbers.valkey, valkeyProgram)
    const configFile = join(folder, 'headgate.yaml')
    const settings = JSON.parse(buildSettings(vendor))
    settings.limits.drain_delay = drainDelaySeconds
    writeFileSync(configFile, JSON.stringify(settings))
    const databaseUrl = `postgres://headgate@${service.machine.address}:${service.port}/${database}`
    const nodeSettings = { folder, configFile, databaseUrl, redisUrl: valkey.url }
    const create = (index: number) => LabNode.create(numbers.firstNode + index, nodeSettings)
    const nodes: Lab['nodes'] = [await create(0), await create(1), await create(2)]
    const lab = new Lab(folder, vendor, [...nodes], { own, primary, standby, database: service, valkey })
    await nodes[0].mountDisk()
    // The first start creates the tables.
    for (const node of nodes) await node.start()
    await lab.balancer.listen(own.address, balancerPort)
    await lab.waitUntilReady()
    return lab
  }

  get url(): string {
    return `http://${this.own.address}:${balancerPort}`
  }

  waitUntilReady(nodes: readonly LabNode[] = this.nodes): Promise<void> {
    return waitUntil(
      () => nodes.every(({ backend }) => backend.isReady),
      () =>
        `not ready: ${nodes.filter(({ backend }) => !backend.isReady).map(({ machine }) => machine.address)}`,
    )
  }

  /** Makes the standby the primary, as an operator or a tool does when the primary is lost. */
  async failOver(): Promise<void> {
    await this.#standby.promote()
    this.primary = this.#standby
    this.database.moveTo(this.primary.target)
  }

  /** Rows of the database of the nodes, read past their address of it. */
  queryDatabase(statement: string): Promise<unknown[]> {
    return this.primary.query(statement, database)
  }

  /** What provider, clients and ledger disagree about, and what the given requests cost. */
  async checkBooks(ofRequests: ReadonlySet<string>): Promise<{ problems: string[]; spent: bigint }> {
    // A request about money writes what the node still has in its journal.
    for (const { gateway } of this.nodes) await gateway.manage('GET', '/credits')
    const ledger = await readLedgerSnapshot(this.primary.urlOf(database))
    const { problems } = reconcileBooks(this.vendor.records, this.clients.log, ledger)
    const spent = ledger.generations
      .filter(({ external_user }) => ofRequests.has(external_user ?? ''))
      .reduce((sum, { cost_nanos }) => sum + cost_nanos, 0n)
    return { problems, spent }
  }
}
