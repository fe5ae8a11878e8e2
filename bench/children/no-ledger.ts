// Loaded before the gateway: a ledger that lets everything in and keeps nothing, to see what the real one costs.
import { Ledger } from '../../src/ledger/ledger.ts'

Ledger.prototype.admit = async () => null
Ledger.prototype.settle = async () => undefined
Ledger.prototype.trackProgress = () => undefined
