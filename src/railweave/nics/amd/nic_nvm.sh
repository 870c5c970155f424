
# AMD: no setting in the flash of its adapters is public, so none is designed.
amd() {
    local what=$1 dev=$2
    [[ $what == apply ]] || say "$dev: nothing public is known of settings in its flash"
}
