import { Icon } from '../theme/icon.tsx'

export const CheckIcon = () => <Icon name="check" />
export const CopyIcon = () => <Icon name="copy" />
export const SearchIcon = () => <Icon name="search" />
export const BellIcon = () => <Icon name="notifications" />
export const SunIcon = () => <Icon name="sun" />
export const MoonIcon = () => <Icon name="moon" />
export const TerminalIcon = () => <Icon name="terminal" />
export const PersonIcon = () => <Icon name="person" />
export const WarningIcon = () => <Icon name="warning" />
export const MoreIcon = () => <Icon name="more" />
export const UpIcon = () => <Icon name="up" />
export const DownIcon = () => <Icon name="down" />
export const GripIcon = () => <Icon name="grip" />
export const MenuIcon = () => <Icon name="menu" />
export const HelpIcon = () => <Icon name="help" />
export const BookIcon = () => <Icon name="reference" />
