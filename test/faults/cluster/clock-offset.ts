// Loaded before the server: the clock of this node differs from that of the others.
const offset = Number(process.env.TEST_CLOCK_OFFSET_MS)
const SystemDate = Date
const now = () => SystemDate.now() + offset

globalThis.Date = new Proxy(SystemDate, {
  construct: (target, args: [], newTarget) =>
    Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
  get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
})
