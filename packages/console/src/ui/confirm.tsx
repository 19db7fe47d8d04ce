/** Nothing is destroyed by one press. */
import type { ReactNode } from 'react';
import { Button, Dialog, DialogTrigger, Heading, Modal, ModalOverlay } from 'react-aria-components';

export function Confirm({
  label,
  title,
  children,
  action,
  onConfirm,
  isDisabled = false,
  kind = 'danger',
  size,
}: {
  label: string;
  title: string;
  children: ReactNode;
  /** What the second button says: the deed itself, never "OK". */
  action: string;
  onConfirm: () => void;
  isDisabled?: boolean;
  /** What is asked about, and destroys nothing, is `primary`. */
  kind?: 'danger' | 'primary';
  size?: 'small';
}) {
  return (
    <DialogTrigger>
      <Button className={['button', kind === 'danger' && kind, size].filter(Boolean).join(' ')} isDisabled={isDisabled}>
        {label}
      </Button>
      <ModalOverlay className="overlay" isDismissable>
        <Modal className="modal">
          <Dialog role="alertdialog">
            {({ close }) => (
              <>
                <Heading slot="title">{title}</Heading>
                <div>{children}</div>
                <div className="actions">
                  <Button className="button" onPress={close} autoFocus>
                    Cancel
                  </Button>
                  <Button
                    className={`button ${kind}`}
                    onPress={() => {
                      onConfirm();
                      close();
                    }}
                  >
                    {action}
                  </Button>
                </div>
              </>
            )}
          </Dialog>
        </Modal>
      </ModalOverlay>
    </DialogTrigger>
  );
}
