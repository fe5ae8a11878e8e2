let notify: () => void = () => undefined

/** Calls `listener` whenever a response says that nobody is signed in any more. */
export function onSessionEnd(listener: () => void): void {
  notify = listener
}

export function reportSessionEnd(): void {
  notify()
}
