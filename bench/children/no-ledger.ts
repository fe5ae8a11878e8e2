// Preloaded into the gateway: a ledger that admits everything and records nothing, to measure the cost of the real one.
import { Ledger } from '../../src/ledger/ledger.ts'

Ledger.prototype.admit = async () => null
Ledger.prototype.settle = async () => undefined
Ledger.prototype.trackProgress = () => undefined
