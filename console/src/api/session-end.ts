let notify: () => void = () => undefined

/** Calls `listener` whenever a response says that the session has ended. */
export function onSessionEnd(listener: () => void): void {
  notify = listener
}

export function reportSessionEnd(): void {
  notify()
}
