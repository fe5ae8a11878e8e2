import { Tabs } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { mayDo, type Permission, useSession } from '../../app/session.tsx'

type Path = '/files' | '/files/media' | '/files/containers'

const tabs: { to: Path; label: string; permission: Permission }[] = [
  { to: '/files', label: 'Files', permission: 'files:read' },
  { to: '/files/media', label: 'Videos, images, audio', permission: 'videos:read' },
  { to: '/files/containers', label: 'Containers', permission: 'files:read' },
]

/** Leads from one of these screens to the others. */
export function MediaTabs({ current }: { current: Path }) {
  const session = useSession()
  const navigate = useNavigate()
  const shown = tabs.filter(({ permission }) => mayDo(session, permission))
  const open = (value: string | null) => {
    const tab = shown.find(({ to }) => to === value)
    if (tab) void navigate({ to: tab.to })
  }
  return (
    <Tabs value={current} onChange={open}>
      <Tabs.List aria-label="Files and media">
        {shown.map(({ to, label }) => (
          <Tabs.Tab key={to} value={to}>
            {label}
          </Tabs.Tab>
        ))}
      </Tabs.List>
    </Tabs>
  )
}
