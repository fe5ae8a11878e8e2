import { NavLink, Text, Tooltip } from '@mantine/core'
import { Link, useLocation } from '@tanstack/react-router'
import { Icon } from '../theme/icon.tsx'
import { findNavigationItem, type NavigationItem, visibleNavigation } from './navigation.ts'
import { useSession } from './session.tsx'

interface MenuProps {
  /** Shows icons only; their labels are tooltips. */
  isCompact: boolean
  onNavigate: () => void
}

/** The screens that the person may open, in groups. It fits a window of 800 pixels. */
export function ScreenMenu({ isCompact, onNavigate }: MenuProps) {
  const session = useSession()
  const { pathname } = useLocation()
  const current = findNavigationItem(pathname)?.to
  return (
    <div className="headgate-menu" data-compact={isCompact || undefined}>
      {visibleNavigation(session).map(({ label, items }) => (
        <div key={label} className="headgate-menu-group">
          <Text className="headgate-menu-label" c="dimmed" fw={500}>
            {label}
          </Text>
          {items.map((item) => (
            <MenuLink
              key={item.to}
              item={item}
              isCompact={isCompact}
              isCurrent={item.to === current}
              onNavigate={onNavigate}
            />
          ))}
        </div>
      ))}
    </div>
  )
}

interface MenuLinkProps extends MenuProps {
  item: NavigationItem
  isCurrent: boolean
}

function MenuLink({
  item: { to, label, icon, isInHeader },
  isCompact,
  isCurrent,
  onNavigate,
}: MenuLinkProps) {
  return (
    <Tooltip label={label} position="right" disabled={!isCompact}>
      <NavLink
        component={Link}
        to={to}
        label={isCompact ? null : label}
        leftSection={<Icon name={icon} size={16} />}
        {...(isCompact && { 'aria-label': label })}
        {...(isInHeader && { hiddenFrom: 'sm' })}
        active={isCurrent}
        onClick={onNavigate}
      />
    </Tooltip>
  )
}
