const isApple = /Mac|iPhone|iPad/.test(navigator.platform)

/** The keys of a shortcut as the keyboard of this platform names them: `mod+K` is ⌘ K or Ctrl K. */
export function listShortcutKeys(shortcut: string): string[] {
  return shortcut.split('+').map((key) => (key === 'mod' ? (isApple ? '⌘' : 'Ctrl') : key))
}
