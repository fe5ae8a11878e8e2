interface ShortcutGroup {
  label: string
  shortcuts: { keys: string[]; effect: string }[]
}

/** Every shortcut of the console. Each of `keys` has the same effect; `mod` is ⌘ or Ctrl. */
export const shortcutGroups: ShortcutGroup[] = [
  {
    label: 'Everywhere',
    shortcuts: [
      { keys: ['mod+K', '/'], effect: 'Search, open a record by its ID, or run an action' },
      { keys: ['?'], effect: 'Show the shortcuts' },
      { keys: ['Esc'], effect: 'Close a dialog or a menu' },
    ],
  },
  {
    label: 'List of requests',
    shortcuts: [
      { keys: ['↓', '↑'], effect: 'Next or previous row' },
      { keys: ['PageDown', 'PageUp'], effect: 'Ten rows further or back' },
      { keys: ['Home', 'End'], effect: 'First or last row' },
      { keys: ['Enter'], effect: 'Open the request' },
    ],
  },
  {
    label: 'Histogram of requests',
    shortcuts: [
      { keys: ['←', '→'], effect: 'Choose the bar before or after' },
      { keys: ['Shift+←', 'Shift+→'], effect: 'Extend the choice' },
      { keys: ['Enter'], effect: 'Show only the chosen period' },
    ],
  },
  {
    label: 'Request',
    shortcuts: [
      { keys: ['J'], effect: 'Next request of the list' },
      { keys: ['K'], effect: 'Previous request of the list' },
      { keys: ['Esc'], effect: 'Back to the list' },
    ],
  },
  {
    label: 'Tables with checkboxes',
    shortcuts: [
      { keys: ['↓', '↑'], effect: 'Next or previous checkbox' },
      { keys: ['Space'], effect: 'Select the row' },
    ],
  },
]
