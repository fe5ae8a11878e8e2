import { ActionIcon, Menu } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { MoreIcon } from './icons.tsx'

interface RowMenuProps {
  label: string
  /** The items of the menu. */
  children: ReactNode
}

/** The menu of a row. It is built when it is first opened, because a table has a hundred of them. */
export function RowMenu({ label, children }: RowMenuProps) {
  const [isUsed, setUsed] = useState(false)
  if (!isUsed) {
    return (
      <ActionIcon
        variant="subtle"
        color="gray"
        aria-label={label}
        aria-haspopup="menu"
        onClick={() => setUsed(true)}
      >
        <MoreIcon />
      </ActionIcon>
    )
  }
  return (
    <Menu position="bottom-end" defaultOpened>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" aria-label={label}>
          <MoreIcon />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>{children}</Menu.Dropdown>
    </Menu>
  )
}
