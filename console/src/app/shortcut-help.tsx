import { useHotkeys } from '@mantine/hooks'
import { lazy, Suspense } from 'react'

const ShortcutList = lazy(() =>
  import('./shortcut-list.tsx').then((module) => ({ default: module.ShortcutList })),
)

interface ShortcutHelpProps {
  isOpen: boolean
  onOpen: () => void
  onClose: () => void
}

/** The list of shortcuts, opened with `?`. On most keyboards that needs Shift. */
export function ShortcutHelp({ isOpen, onOpen, onClose }: ShortcutHelpProps) {
  useHotkeys([
    ['?', onOpen],
    ['shift + ?', onOpen],
  ])
  return <Suspense>{isOpen && <ShortcutList onClose={onClose} />}</Suspense>
}
