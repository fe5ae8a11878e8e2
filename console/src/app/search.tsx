import { Button, Kbd } from '@mantine/core'
import { useHotkeys } from '@mantine/hooks'
import { notifications } from '@mantine/notifications'
import { spotlight } from '@mantine/spotlight'
import { type ComponentType, useState } from 'react'
import { SearchIcon } from '../components/icons.tsx'
import { listShortcutKeys } from '../format/shortcut.ts'

/** Finds screens, records and actions; opened with Ctrl or ⌘ and K. Its dialog is loaded when it is first opened. */
export function Search() {
  const [Dialog, setDialog] = useState<ComponentType | null>(null)
  const open = () => {
    spotlight.open()
    if (Dialog) return
    import('./search-dialog.tsx').then(
      ({ SearchDialog }) => setDialog(() => SearchDialog),
      () => {
        spotlight.close()
        notifications.show({
          color: 'red',
          message: 'Search could not be loaded. Check your connection and try again.',
        })
      },
    )
  }
  useHotkeys([
    ['mod + K', open],
    ['/', open],
  ])
  return (
    <>
      <Button
        variant="default"
        size="xs"
        leftSection={<SearchIcon />}
        rightSection={
          <Kbd size="xs" visibleFrom="sm" aria-hidden>
            {listShortcutKeys('mod+K').join(' ')}
          </Kbd>
        }
        onClick={open}
      >
        Search
      </Button>
      {Dialog && <Dialog />}
    </>
  )
}
